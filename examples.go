package main

import "github.com/danielgtaylor/huma/v2"

var problemExample any

func addExamples(path string, op *huma.Operation) {}
