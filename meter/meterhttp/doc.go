// Package meterhttp is the meter over HTTP: usage comes in, lines, families and policies are shown and changed, and grants are made.
//
// openapi.json, which is served at /openapi.json, lists every route with its statuses and types of problems; tests hold the
// handlers to it. docs/meter.md tells the rest.
//
// # What an answer means
//
// A usage event that was accepted is decided later, and once, however often it was sent. With durable intake it is in SQL when
// the answer leaves; otherwise it is in Redis, and lost if Redis is lost before the event is decided. ?wait=true answers
// when the done row is committed. Grants, lines and policies are in SQL when the answer leaves, whatever it says of Redis.
package meterhttp
