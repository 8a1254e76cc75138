// Package manifests checks deploy's manifests of Kubernetes and of compose. It has only tests, in a module of their own, and needs neither
// a cluster nor a network.
package manifests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const (
	warrenFile  = "../kubernetes/warren.yaml"
	secretFile  = "../kubernetes/secret.yaml"
	composeFile = "../compose.yaml"
	clusterFile = "../compose-cluster.yaml"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployment holds the objects of the manifests of Kubernetes.
type deployment struct {
	services []*core.Service
	set      *apps.StatefulSet
	budget   *policy.PodDisruptionBudget
	secret   *core.Secret
}

// decode decodes manifests strictly: a member that Kubernetes does not know, or that is there twice, is an error. So is what does not fit
// together.
func decode(manifests ...string) (*deployment, error) {
	scheme := runtime.NewScheme()
	err := errors.Join(core.AddToScheme(scheme), apps.AddToScheme(scheme), policy.AddToScheme(scheme))
	if err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	d := new(deployment)
	for _, text := range manifests {
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader([]byte(text))))
		for room := make([]byte, len(text)); ; {
			n, err := documents.Read(room)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, err
			}
			object, _, err := decoder.Decode(room[:n], nil, nil)
			if err != nil {
				return nil, err
			}
			if err := d.add(object); err != nil {
				return nil, err
			}
		}
	}
	return d, d.check()
}

func (d *deployment) add(object runtime.Object) error {
	switch o := object.(type) {
	case *core.Service:
		d.services = append(d.services, o)
	case *apps.StatefulSet:
		d.set = o
	case *policy.PodDisruptionBudget:
		d.budget = o
	case *core.Secret:
		d.secret = o
	default:
		return fmt.Errorf("an object of type %T", object)
	}
	return nil
}

// check returns what of the objects does not fit together.
func (d *deployment) check() (err error) {
	if d.set == nil || d.budget == nil || d.secret == nil || len(d.services) != 2 {
		return errors.New("an object is missing")
	}
	wrong := func(format string, a ...any) { err = errors.Join(err, fmt.Errorf(format, a...)) }
	pod := d.set.Spec.Template
	for what, selector := range map[string]map[string]string{"set": d.set.Spec.Selector.MatchLabels,
		"budget": d.budget.Spec.Selector.MatchLabels, d.services[0].Name: d.services[0].Spec.Selector,
		d.services[1].Name: d.services[1].Spec.Selector} {
		if len(selector) == 0 {
			wrong("%s selects nothing", what)
		}
		for key, value := range selector {
			if pod.Labels[key] != value {
				wrong("%s selects %s=%s, which pods do not have", what, key, value)
			}
		}
	}
	c := pod.Spec.Containers[0]
	port := func(p intstr.IntOrString) bool {
		return slices.ContainsFunc(c.Ports, func(has core.ContainerPort) bool { return has.Name == p.StrVal })
	}
	for _, s := range d.services {
		if !port(s.Spec.Ports[0].TargetPort) {
			wrong("the Service %s leads to no port", s.Name)
		}
		if headless := s.Spec.ClusterIP == core.ClusterIPNone; headless != (s.Name == d.set.Spec.ServiceName) {
			wrong("the Service %s: headless %v", s.Name, headless)
		}
	}
	for what, probe := range map[string]*core.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe, "readiness": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || !port(probe.HTTPGet.Port) {
			wrong("the %s probe asks nothing", what)
		}
	}
	d.checkVolumes(c, wrong)
	d.checkVariables(c, wrong)
	d.checkStop(c, wrong)
	return err
}

func (d *deployment) checkVolumes(c core.Container, wrong func(string, ...any)) {
	var volumes []string
	for _, v := range d.set.Spec.Template.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.Secret == nil {
			continue
		}
		for _, item := range v.Secret.Items {
			if _, there := d.secret.StringData[item.Key]; !there || v.Secret.SecretName != d.secret.Name {
				wrong("there is no secret %s in %s", item.Key, v.Secret.SecretName)
			}
		}
	}
	for _, claim := range d.set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, claim.Name)
	}
	for _, mount := range c.VolumeMounts {
		if !slices.Contains(volumes, mount.Name) {
			wrong("there is no volume %s", mount.Name)
		}
	}
	if len(c.VolumeMounts) != len(volumes) {
		wrong("a volume is not mounted")
	}
}

func (d *deployment) checkVariables(c core.Container, wrong func(string, ...any)) {
	for _, e := range c.Env {
		if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
			continue
		}
		ref := e.ValueFrom.SecretKeyRef
		if _, there := d.secret.StringData[ref.Key]; !there || ref.Name != d.secret.Name {
			wrong("%s is of %s in %s, which is not there", e.Name, ref.Key, ref.Name)
		}
	}
	i := slices.IndexFunc(c.Env, func(e core.EnvVar) bool { return e.Name == "WARREN_ADVERTISE" })
	if i < 0 || !strings.Contains(c.Env[i].Value, "."+d.set.Spec.ServiceName+":") {
		wrong("WARREN_ADVERTISE is not of the Service %s", d.set.Spec.ServiceName)
	}
}

// checkStop wants time for what still runs after the drain: a stop closes browsers within 25 s, and then waits for answers.
func (d *deployment) checkStop(c core.Container, wrong func(string, ...any)) {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil {
		wrong("nothing drains a server before it stops")
		return
	}
	command := c.Lifecycle.PreStop.Exec.Command
	i := slices.Index(command, "--timeout")
	if i < 0 || len(command) < i+2 || !slices.Contains(command, "drain") {
		wrong("preStop does not drain: %q", command)
		return
	}
	timeout, err := time.ParseDuration(command[i+1])
	grace := d.set.Spec.Template.Spec.TerminationGracePeriodSeconds
	if err != nil || grace == nil || time.Duration(*grace)*time.Second < timeout+time.Minute {
		wrong("the grace period is too short for a drain of %s", command[i+1])
	}
}

// TestKubernetes: the manifests are what Kubernetes knows, and fit together.
func TestKubernetes(t *testing.T) {
	d, err := decode(read(t, warrenFile), read(t, secretFile))
	if err != nil {
		t.Fatal(err)
	}
	if *d.set.Spec.Replicas != 3 {
		t.Errorf("%d replicas", *d.set.Spec.Replicas)
	}
	if files, err := filepath.Glob("../kubernetes/*"); err != nil || len(files) != 2 {
		t.Errorf("%v, %v: a manifest is not checked", files, err)
	}
}

// TestKubernetesFaults: each of these changes is found.
func TestKubernetesFaults(t *testing.T) {
	manifest, secret := read(t, warrenFile), read(t, secretFile)
	for _, change := range [][2]string{{"preStop:", "prestop:"}, {"readinessProbe:", "readinesProbe:"}, {"replicas: 3", "replicas: three"},
		{"serviceName: warren-nodes", "serviceName: warren"}, {"key: store", "key: database"}, {"apps/v1", "apps/v2"},
		{"  replicas: 3", "  replicas: 3\n  replicas: 4"}, {"mountPath: /data}", "mountpath: /data}"},
		{"name: shm, mount", "name: mem, mount"},
		{"targetPort: http}", "targetPort: https}"}, {"Seconds: 690", "Seconds: 600"}, {"[/usr/bin/warren, drain,", "[/usr/bin/warren, "},
		{"key: secret.key, path", "key: secret, path"}, {".warren-nodes:7777", ".warren:7777"},
		{"      labels: {app: warren}", "      labels: {app: other}"}, {"drop: [ALL]", "remove: [ALL]"},
		{"maxUnavailable: 1", "maxUnavailable: [1]"}, {"localhostProfile", "profile"}} {
		changed := strings.Replace(manifest, change[0], change[1], 1)
		if changed == manifest {
			t.Errorf("there is no %q", change[0])
		}
		if _, err := decode(changed, secret); err == nil {
			t.Errorf("%q in place of %q is not found", change[1], change[0])
		}
	}
}

// load loads a file of compose, with its schema and what it refers to.
func load(t *testing.T, text string) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{WorkingDir: t.TempDir(),
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: []byte(text)}},
		Environment: types.Mapping{"WARREN_VERSION": "1.0.0", "WARREN_API_KEY": "k", "POSTGRES_PASSWORD": "p"}})
}

// TestCompose: the files of compose are what their schema knows, and each server of the cluster is one of its own.
func TestCompose(t *testing.T) {
	if _, err := load(t, read(t, composeFile)); err != nil {
		t.Error(err)
	}
	p, err := load(t, read(t, clusterFile))
	if err != nil {
		t.Fatal(err)
	}
	ports := map[string]bool{}
	for name, s := range p.Services {
		if name == "postgres" {
			continue
		}
		at := "0.0.0.0:" + s.Ports[0].Published
		env := func(key string) string { return *s.Environment[key] }
		if env("WARREN_NODE") != name || env("WARREN_LISTEN") != at || s.Volumes[0].Source == "" || ports[at+s.Volumes[0].Source] ||
			env("WARREN_URL") != "http://127.0.0.1:"+s.Ports[0].Published || s.Ports[0].HostIP != "127.0.0.1" ||
			env("WARREN_ADVERTISE") != "https://"+name+":"+s.Ports[0].Published || len(s.PreStop) != 1 {
			t.Errorf("%s: %+v", name, s)
		}
		ports[at+s.Volumes[0].Source] = true
	}
	if len(ports) != 3 {
		t.Errorf("%v", ports)
	}
}

// TestComposeFaults: each of these changes is found.
func TestComposeFaults(t *testing.T) {
	text := read(t, clusterFile)
	for _, change := range [][2]string{{"pre_stop:", "prestop:"}, {"healthcheck:", "healthchek:"},
		{"condition: service_healthy", "condition: healthy"},
		{"secrets: [secret.key]", "secrets: [secret]"}, {"    postgres: {", "    database: {"}, {"interval: 30s", "interval: thirty"},
		{"  data-3:\n", ""}, {"    networks: [warren]", "    networks: [other]"}, {"cap_drop: [ALL]", "cap_drop: ALL"}} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Errorf("there is no %q", change[0])
		}
		if _, err := load(t, changed); err == nil {
			t.Errorf("%q in place of %q is not found", change[1], change[0])
		}
	}
}
