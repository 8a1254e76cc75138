package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// pretendedWait is how long a pretended browser takes until it answers.
	pretendedWait = time.Second
	// pretendedVersion is what it says that it is.
	pretendedVersion = "156.0.8078.79"
	// pretendedPage is the id of its only page.
	pretendedPage = "PAGE"
)

// pretendedBrowser writes the program of a pretended browser, and returns its path. Its length is a wait and hardly any processor time.
func (b *bench) pretendedBrowser() (string, error) {
	program := filepath.Join(b.dir, "pretended-browser")
	text := fmt.Sprintf("#!/bin/sh\ncase $1 in --version) echo Chromium %s ;; *) exec '%s' pretend-browser ;; esac\n", pretendedVersion,
		strings.ReplaceAll(b.exe, "'", `'\''`))
	return program, os.WriteFile(program, []byte(text), 0o700) //nolint:gosec // it is a program
}

// pretendBrowser waits, and then answers as a browser with a blank page does, until it is closed. It reads commands from file descriptor 3
// and writes answers to 4 (--remote-debugging-pipe).
func pretendBrowser([]string) error {
	time.Sleep(pretendedWait)
	return answerCommands(os.NewFile(3, "commands"), os.NewFile(4, "answers"))
}

// answerCommands answers the messages of a DevTools pipe until Browser.close, or until the pipe ends.
func answerCommands(r io.Reader, w io.Writer) error {
	in := bufio.NewReader(r)
	for clients := 0; ; {
		text, err := in.ReadBytes(0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var c pretendedCommand
		if err := json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &c); err != nil {
			return err
		}
		if c.Method == "Target.attachToBrowserTarget" {
			clients++
		}
		for _, message := range c.answers(clients) {
			out, err := json.Marshal(message)
			if err != nil {
				return err
			}
			if _, err := w.Write(append(out, 0)); err != nil {
				return err
			}
		}
		if c.Method == "Browser.close" {
			return nil
		}
	}
}

// pretendedCommand is a command of a DevTools pipe.
type pretendedCommand struct {
	ID      int64  `json:"id"`
	Session string `json:"sessionId"`
	Method  string `json:"method"`
}

// answers are what the command brings: the events that Chrome sends first, and the answer. What is not known is done, without a result.
func (c pretendedCommand) answers(clients int) []any {
	type object = map[string]any
	page := object{"targetId": pretendedPage, "type": "page", "title": "", "url": "about:blank", "attached": true}
	attached := func(session string, target object) object {
		return object{"method": "Target.attachedToTarget",
			"params": object{"sessionId": session, "targetInfo": target, "waitingForDebugger": false}}
	}
	var events []any
	result := object{}
	switch c.Method {
	case "Browser.getVersion":
		result = object{"product": "Chrome/" + pretendedVersion, "userAgent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/156.0.0.0"}
	case "Target.setAutoAttach":
		if c.Session == "" {
			events = append(events, attached("SESSION", page))
		}
	case "Target.attachToBrowserTarget":
		session := fmt.Sprint("CLIENT", clients)
		events = append(events, attached(session, object{"targetId": "BROWSER", "type": "browser"}))
		result = object{"sessionId": session}
	case "Target.getTargets":
		result = object{"targetInfos": []any{page}}
	case "Runtime.evaluate": // what the server asks a page: its languages and its time zone
		result = object{"result": object{"value": object{"languages": []string{"en-US", "en"}, "timezone": "UTC"}}}
	case "Storage.getCookies":
		result = object{"cookies": []any{}}
	}
	answer := object{"id": c.ID, "result": result}
	if c.Session != "" {
		answer["sessionId"] = c.Session
	}
	return append(events, answer)
}
