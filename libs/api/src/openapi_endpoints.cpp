#include "openapi_tables.hpp"

namespace sandbox::api {
namespace {

constexpr std::string_view kNoTunnels = "503 unavailable until tunnels are served.";

constexpr Parameter kParameters[] = {
    {"id", "path", "id", "uuid", ""},
    {"tunnel_id", "path", "tunnel_id", "uuid", ""},
    {"tenant", "query", "tenant", "string", "Only this tenant's."},
    {"sandbox_state", "query", "state", "[#SandboxState]", "Only these states; may be repeated."},
    {"operation_state", "query", "state", "[#OperationState]", "Only these states; may be repeated."},
    {"sandbox_id", "query", "sandbox_id", "uuid", "Only this sandbox's."},
    {"limit", "query", "limit", "integer 1..1000", "At most so many; without it all of them."},
    {"cursor", "query", "cursor", "string", "next_cursor of the page before."},
    {"wait_seconds", "query", "wait_seconds", "integer 0..60 = 0",
     "Answer when the operation has ended or the time is up, whichever is first."},
    {"lease_limit", "query", "limit", "integer 1..100 = 8", "At most so many assignments."},
    {"lease_wait", "query", "wait_seconds", "integer 0..60 = 0", "Answer as soon as there is work."},
    {"after", "query", "after", "integer 0.. = 0", "Only events with a higher number."},
    {"event_limit", "query", "limit", "integer 1..1000 = 100", "At most so many; not with follow."},
    {"follow", "query", "follow", "boolean = false", "Server-sent events that go on, in place of a page."},
    {"last_event_id", "header", "Last-Event-ID", "integer 0..",
     "What a stream's reader sends when it connects again; counts for more than after."},
    {"domain", "query", "domain", "string", "The exact hostname."},
    {"subdomain", "query", "subdomain", "string", "The label that is asked for."},
    {"idempotency_key", "header", "Idempotency-Key", "string 1..128",
     "Visible ASCII. The same key, path and body within 24 hours get the first answer again; another body is 409."},
};

constexpr Endpoint kEndpoints[] = {
    {"GET", "/healthz", Caller::anyone, "health", "The process serves", "", "", "200 Health", ""},
    {"GET", "/readyz", Caller::anyone, "ready", "It can do its work", "", "", "200 Health", "503",
     "503 when the store does not answer within 2 s."},
    {"GET", "/metrics", Caller::operators_or_anyone, "metrics", "Prometheus exposition", "", "", "200 text", "401",
     "Without a token only where server.metrics_public is set."},
    {"GET", "/openapi.json", Caller::anyone, "openapi", "This document", "", "", "200 object", ""},

    {"POST", "/v1/sandboxes", Caller::operators, "createSandbox", "Validate, score, place and enqueue the create",
     "wait_seconds idempotency_key", "CreateRequest", "201 SandboxAndOperation", "400 401 409 413 503",
     "no_capacity tells in details how many nodes were looked at and how many each gate removed."},
    {"GET", "/v1/sandboxes", Caller::operators, "listSandboxes", "Sandboxes, newest first",
     "tenant sandbox_state limit cursor", "", "200 SandboxList", "400 401 503"},
    {"GET", "/v1/sandboxes/{id}", Caller::operators, "getSandbox", "One sandbox", "id", "", "200 Sandbox",
     "400 401 404 503"},
    {"DELETE", "/v1/sandboxes/{id}", Caller::operators, "deleteSandbox", "Enqueue the teardown", "id wait_seconds", "",
     "202 OperationAnswer; 200 OperationAnswer", "400 401 404 503",
     "Asked again it answers the same operation: 202 while it runs, 200 once the sandbox is stopped."},
    {"POST", "/v1/sandboxes/{id}/exec", Caller::operators, "exec", "Enqueue one command",
     "id wait_seconds idempotency_key", "ExecRequest", "202 OperationAnswer", "400 401 404 409 413 503",
     "409 when the sandbox is not running."},
    {"POST", "/v1/sandboxes/{id}/extend", Caller::operators, "extendSandbox", "Let it live longer",
     "id idempotency_key", "ExtendRequest", "200 Sandbox", "400 401 404 409 503",
     "The expiry becomes the later of the present one and now + ttl_seconds."},
    {"POST", "/v1/sandboxes/{id}/tunnels", Caller::operators, "createTunnel", "Publish a port",
     "id wait_seconds idempotency_key", "Exposure", "202 TunnelAndOperation", "400 401 404 409 503", kNoTunnels},
    {"DELETE", "/v1/sandboxes/{id}/tunnels/{tunnel_id}", Caller::operators, "deleteTunnel", "Take a port back",
     "id tunnel_id wait_seconds", "", "202 TunnelAndOperation", "400 401 404 409 503", kNoTunnels},

    {"GET", "/v1/operations", Caller::operators, "listOperations", "Operations, newest first, without their outputs",
     "sandbox_id operation_state limit cursor", "", "200 OperationList", "400 401 503"},
    {"GET", "/v1/operations/{id}", Caller::operators, "getOperation", "One operation", "id wait_seconds", "",
     "200 OperationAnswer", "400 401 404 503"},
    {"POST", "/v1/operations/{id}/cancel", Caller::operators, "cancelOperation",
     "Cancel a pending operation or an exec", "id wait_seconds idempotency_key", "", "202 OperationAnswer",
     "400 401 404 409 503",
     "What is pending fails at once; a running exec is killed with its whole process tree; anything else is 409."},

    {"GET", "/v1/events", Caller::operators, "listEvents", "The event log, oldest first, or a stream of it",
     "after tenant event_limit follow last_event_id", "", "200 EventList stream", "400 401 503",
     "A stream's events carry their number as id and a LoggedEvent as data; it goes on until either side ends it."},

    {"GET", "/v1/nodes", Caller::operators, "listNodes", "The fleet and its capacity", "", "", "200 NodeList",
     "401 503"},
    {"GET", "/v1/nodes/{id}", Caller::operators, "getNode", "One node", "id", "", "200 Node", "400 401 404 503"},
    {"POST", "/v1/nodes/{id}/drain", Caller::operators, "drainNode", "Keep new sandboxes away, or let them in again",
     "id idempotency_key", "DrainRequest", "200 Node", "400 401 404 503"},

    {"GET", "/v1/tunnels/authorize", Caller::anyone, "authorizeTunnel", "Whether a hostname is active", "domain", "",
     "204", "404", "For on-demand TLS at the edge. Always 404 until tunnels are served."},
    {"GET", "/v1/local-tunnels/connect", Caller::operators_or_anyone, "connectLocalTunnel", "Open a local relay",
     "subdomain", "", "101", "400 401 503", kNoTunnels},

    {"POST", "/v1/nodes/register", Caller::workers, "registerNode", "Say who and how big one is", "", "RegisterRequest",
     "200 RegisterAnswer", "400 401 409 503"},
    {"POST", "/v1/nodes/{id}/heartbeat", Caller::workers, "heartbeat", "Report, and renew leases", "id", "Heartbeat",
     "200 HeartbeatAnswer", "400 401 404 503"},
    {"GET", "/v1/nodes/{id}/assignments", Caller::workers, "leaseAssignments", "Lease work",
     "id lease_limit lease_wait", "", "200 LeaseAnswer", "400 401 404 503"},
    {"GET", "/v1/nodes/{id}/streams", Caller::workers, "parkStream", "Park one byte stream", "id", "", "101",
     "400 401 404 503", kNoTunnels},
    {"POST", "/v1/assignments/release", Caller::workers, "releaseAssignments", "Hand back leases not begun", "",
     "ReleaseRequest", "200 Ok", "400 401 503"},
    {"POST", "/v1/assignments/complete", Caller::workers, "completeAssignment", "Report a result", "", "Completion",
     "200 Ok", "400 401 404 409 413 503"},
};

}  // namespace

std::span<const Parameter> parameters() {
    return kParameters;
}

std::span<const Endpoint> endpoints() {
    return kEndpoints;
}

}  // namespace sandbox::api
