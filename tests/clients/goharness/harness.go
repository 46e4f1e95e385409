// Package harness runs the cases of one Go client suite and prints one JSON line per case.
//
// A case fails by panicking, mostly through Equal, That and Must. Each runs in a goroutine of its own under a time
// limit, several at a time.
package harness

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Run is what a case is given: where the broker is, names nobody else uses, a context that ends with the case.
type Run struct {
	Ctx       context.Context
	Bootstrap string
	Flaky     string

	prefix   string
	mu       sync.Mutex
	names    int
	cleanups []func()
}

var unique = fmt.Sprintf("%x", time.Now().UnixNano()&0xffffffffff)

// Topic is a new name.
func (r *Run) Topic() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.names++
	return fmt.Sprintf("%s-%s-%d", r.prefix, unique, r.names)
}

// Group is a new group id.
func (r *Run) Group() string { return "g-" + r.Topic() }

// AtEnd calls the function after the case, last registered first.
func (r *Run) AtEnd(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cleanups = append(r.cleanups, f)
}

func (r *Run) cleanUp() {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		func() {
			defer func() { _ = recover() }() // The case has its verdict already.
			r.cleanups[i]()
		}()
	}
}

type namedCase struct {
	name string
	body func(*Run)
}

var cases []namedCase

// Case registers a case under its name in cases.toml.
func Case(name string, body func(*Run)) { cases = append(cases, namedCase{name, body}) }

type failure struct{ text string }

func fail(format string, arguments ...any) {
	panic(failure{fmt.Sprintf(format, arguments...) + place()})
}

// place names the callers inside the suite.
func place() string {
	var found []string
	for depth := 3; depth < 12 && len(found) < 3; depth++ {
		_, file, line, ok := runtime.Caller(depth)
		if !ok {
			break
		}
		if base := filepath.Base(file); base != "harness.go" && strings.Contains(file, "tests/clients") {
			found = append(found, fmt.Sprintf("%s:%d", base, line))
		}
	}
	return " at " + strings.Join(found, " < ")
}

// Equal demands that two values are deeply equal.
func Equal(actual, expected any, what string) {
	if !reflect.DeepEqual(actual, expected) {
		fail("%s: got %s, expected %s", what, short(actual), short(expected))
	}
}

// That demands a truth.
func That(truth bool, format string, arguments ...any) {
	if !truth {
		fail(format, arguments...)
	}
}

// Must demands no error.
func Must(err error) {
	if err != nil {
		fail("error: %v", err)
	}
}

// Got returns the value and demands no error.
func Got[T any](value T, err error) T {
	if err != nil {
		fail("error: %v", err)
	}
	return value
}

// Fails demands this very error, wrapped or not.
func Fails(err, expected error) {
	if !errors.Is(err, expected) {
		fail("got error %v, expected %v", err, expected)
	}
}

// Eventually waits until the check holds.
func Eventually(check func() bool, seconds float64, what string) {
	deadline := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	for !check() {
		if time.Now().After(deadline) {
			fail("not within %v s: %s", seconds, what)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

func short(value any) string {
	text := fmt.Sprintf("%+v", value)
	if len(text) > 300 {
		return fmt.Sprintf("%s... (%d bytes)", text[:300], len(text))
	}
	return text
}

type outcome struct {
	Client  string  `json:"client"`
	Case    string  `json:"case"`
	Status  string  `json:"status"`
	Seconds float64 `json:"seconds"`
	Detail  string  `json:"detail"`
}

type repeated []string

func (r *repeated) String() string     { return strings.Join(*r, ",") }
func (r *repeated) Set(v string) error { *r = append(*r, v); return nil }

// Main runs the registered cases as the command line says.
func Main(client string) {
	var wanted repeated
	bootstrap := flag.String("bootstrap", "", "HOST:PORT of the broker")
	flaky := flag.String("flaky", "", "HOST:PORT of the proxy that drops connections")
	limit := flag.Float64("timeout", 60, "seconds a case may take")
	parallel := flag.Int("parallel", 4, "cases at a time")
	flag.Var(&wanted, "case", "run only this case (may be repeated)")
	flag.Parse()
	var plan []namedCase
	for _, one := range cases {
		if len(wanted) == 0 || strings.Contains(","+wanted.String()+",", ","+one.name+",") {
			plan = append(plan, one)
		}
	}
	printer := json.NewEncoder(os.Stdout)
	_ = printer.Encode(map[string]any{"client": client, "plan": len(plan)})
	var printing sync.Mutex
	var all sync.WaitGroup
	lanes := make(chan struct{}, *parallel)
	for _, one := range plan {
		lanes <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-lanes }()
			result := execute(client, one, *bootstrap, *flaky, time.Duration(*limit*float64(time.Second)))
			printing.Lock()
			defer printing.Unlock()
			_ = printer.Encode(result)
		}()
	}
	all.Wait()
}

func execute(client string, one namedCase, bootstrap, flaky string, limit time.Duration) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	run := &Run{
		Ctx: ctx, Bootstrap: bootstrap, Flaky: flaky,
		prefix: client + "-" + strings.ReplaceAll(one.name, "_", "-"),
	}
	started := time.Now()
	done := make(chan string, 1)
	go func() {
		done <- body(run, one.body)
		run.cleanUp()
	}()
	result := outcome{Client: client, Case: one.name, Status: "pass"}
	select {
	case result.Detail = <-done:
	case <-time.After(limit + time.Second):
		result.Detail = fmt.Sprintf("no end in %v", limit)
	}
	if result.Detail != "" {
		result.Status = "fail"
	}
	result.Seconds = float64(time.Since(started).Milliseconds()) / 1000
	return result
}

func body(run *Run, call func(*Run)) (detail string) {
	defer func() {
		switch problem := recover().(type) {
		case nil:
		case failure:
			detail = problem.text
		default:
			detail = fmt.Sprintf("panic: %v %s", problem, short(string(debug.Stack())))
		}
	}()
	call(run)
	return ""
}
