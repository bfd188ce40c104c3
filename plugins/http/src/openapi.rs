//! The OpenAPI document, made from the table of endpoints.

use serde_json::{Map, Value, json};

use crate::routes::{Kind, Param, ROUTES, Route};

/// The document.
pub fn document() -> Value {
    let mut paths = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.to_ascii_lowercase()] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Ferrovia",
            "version": "1",
            "description": "The router over HTTP: see docs/console.md.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let (kind, schema) = match route.answer {
        "" => ("application/json", json!({ "description": "JSON of the command" })),
        "Live" => ("text/event-stream", json!({ "type": "string" })),
        "Metrics" => ("text/plain", json!({ "type": "string" })),
        "Capture" => ("application/x-pcapng", json!({ "type": "string", "format": "binary" })),
        "Document" => ("application/json", json!({ "type": "object" })),
        name => ("application/json", json!({ "$ref": format!("#/components/schemas/{name}") })),
    };
    let words = route.path.trim_start_matches("/api/v1/").trim_start_matches('/');
    let id = format!("{}-{}", route.method.to_ascii_lowercase(), words.replace(['/', '.'], "-"));
    let failed = |what: &str| {
        let schema = json!({ "$ref": "#/components/schemas/Error" });
        json!({ "description": what, "content": { "application/json": { "schema": schema } } })
    };
    let mut operation = json!({
        "operationId": id,
        "summary": route.about,
        "responses": {
            "200": { "description": "done", "content": { kind: { "schema": schema } } },
            "400": failed("invalid parameter"),
            "401": failed("missing or wrong token"),
            "403": failed("read-only token, or a page of another origin"),
            "422": failed("refused by the router"),
        },
    });
    let takes = route.takes;
    if takes.is_empty() {
        return operation;
    }
    if route.method == "POST" {
        let properties: Map<_, _> =
            takes.iter().map(|p| (p.name.to_owned(), described(p))).collect();
        let required: Vec<_> = takes.iter().filter(|p| p.required).map(|p| p.name).collect();
        let mut schema = json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        operation["requestBody"] =
            json!({ "content": { "application/json": { "schema": schema } } });
    } else {
        let parameter = |p: &Param| {
            json!({ "name": p.name, "in": "query", "required": p.required,
                "description": p.about, "schema": schema_of(p.kind) })
        };
        operation["parameters"] = takes.iter().map(parameter).collect();
    }
    operation
}

fn described(param: &Param) -> Value {
    let mut schema = schema_of(param.kind);
    schema["description"] = json!(param.about);
    schema
}

fn schema_of(kind: Kind) -> Value {
    match kind {
        Kind::Word => json!({ "type": "string", "pattern": "^\\S+$" }),
        Kind::Line | Kind::Text => json!({ "type": "string" }),
        Kind::Number => json!({ "type": "number", "minimum": 0 }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Choice(words) => json!({ "type": "string", "enum": words }),
    }
}

/// Schemas of answers that are not the JSON of a command.
fn schemas() -> Value {
    let object = |members: &[(&str, &str)]| {
        let properties: Map<_, _> = members
            .iter()
            .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
            .collect();
        json!({ "type": "object", "properties": properties })
    };
    let list = |of: Value| json!({ "type": "array", "items": of });
    let numbers = |texts: &[&'static str], flags: &[&'static str], numbers: &[&'static str]| {
        let texts = texts.iter().map(|name| (*name, "string"));
        let flags = flags.iter().map(|name| (*name, "boolean"));
        let all = texts.chain(flags).chain(numbers.iter().map(|name| (*name, "number")));
        object(&all.collect::<Vec<_>>())
    };
    let mut threads = numbers(
        &["name"],
        &[],
        &["thread", "cpu", "loops", "packets", "calls", "vectors", "rate", "vector"],
    );
    threads["properties"]["cpu"] = json!({ "type": ["number", "null"] });
    let nodes = numbers(
        &["name"],
        &["input"],
        &["index", "calls", "packets", "clocks", "rate", "clocks_per_packet", "vector"],
    );
    let interfaces = numbers(
        &["name"],
        &["up", "link"],
        &[
            "index",
            "rx_packets",
            "rx_bytes",
            "tx_packets",
            "tx_bytes",
            "drops",
            "punt",
            "rx_rate",
            "rx_byte_rate",
            "tx_rate",
            "tx_byte_rate",
            "drop_rate",
        ],
    );
    let (overview, history) = (overview(), history());
    json!({
        "Overview": overview,
        "History": history,
        "Error": numbers(&["error"], &[], &["code"]),
        "Version": numbers(&["version", "token"], &["read_only"], &[]),
        "CliAnswer": { "type": "object", "properties": {
            "output": { "description": "output, as JSON or text" },
            "code": { "type": "number" },
            "error": { "type": ["string", "null"] },
        } },
        "Words": list(numbers(&["word", "help"], &[], &[])),
        "Sample": { "type": "object", "properties": {
            "time": { "type": "number", "description": "seconds on the router's clock" },
            "interval": { "type": "number", "description": "seconds that rates cover; 0 for none" },
            "threads": list(threads),
            "nodes": list(nodes),
            "edges": list(numbers(&["from", "to"], &[], &["packets", "rate"])),
            "interfaces": list(interfaces),
            "counters": list(numbers(&["node", "reason", "severity"], &[], &["count", "rate"])),
        } },
    })
}

/// State of the router: families of numbers by name, and health.
fn overview() -> Value {
    json!({ "type": "object", "properties": {
            "health": { "type": ["object", "null"], "properties": {
                "healthy": { "type": "boolean" },
                "findings": { "type": "array", "items": { "type": "object" } },
            } },
        }, "additionalProperties": { "type": "array", "items": {
            "type": "object", "properties": {
                "labels": { "type": "object", "additionalProperties": { "type": "string" } },
                "value": { "type": "number" },
            },
        } } })
}

/// Columns of numbers by name.
fn history() -> Value {
    json!({ "type": "object", "properties": {
            "step": { "type": "number", "description": "seconds between two numbers" },
            "time": { "type": "number", "description": "of the last one, in seconds since 1970" },
        }, "additionalProperties": { "type": "array", "items": { "type": "number" } } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Counter, Edge, Interface, Node, Sample, Thread};

    const WRITTEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");

    #[test]
    fn the_document_is_the_one_in_the_reference() {
        let now = format!("{:#}\n", document());
        if std::env::var_os("FERROVIA_BLESS").is_some() {
            std::fs::write(WRITTEN, &now).unwrap();
        }
        let written = std::fs::read_to_string(WRITTEN).unwrap_or_default();
        assert!(written == now, "FERROVIA_BLESS=1 cargo test -p http-api writes {WRITTEN} anew");
    }

    #[test]
    fn samples_have_what_the_document_says() {
        let sample = Sample {
            threads: vec![Thread {
                thread: 0,
                name: String::new(),
                cpu: None,
                loops: 0,
                packets: 0,
                calls: 0,
                vectors: 0,
                rate: 0.0,
                vector: 0.0,
            }],
            nodes: vec![Node::default()],
            edges: vec![Edge { from: String::new(), to: String::new(), packets: 0, rate: 0.0 }],
            interfaces: vec![Interface {
                index: 0,
                name: String::new(),
                up: true,
                link: true,
                rx_packets: 0,
                rx_bytes: 0,
                tx_packets: 0,
                tx_bytes: 0,
                drops: 0,
                punt: 0,
                rx_rate: 0.0,
                rx_byte_rate: 0.0,
                tx_rate: 0.0,
                tx_byte_rate: 0.0,
                drop_rate: 0.0,
            }],
            counters: vec![Counter {
                node: String::new(),
                reason: String::new(),
                severity: String::new(),
                count: 0,
                rate: 0.0,
            }],
            ..Sample::default()
        };
        let value = serde_json::to_value(sample).unwrap();
        let schema = &document()["components"]["schemas"]["Sample"]["properties"];
        let names = |v: &Value| v.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&value), names(schema));
        for list in ["threads", "nodes", "edges", "interfaces", "counters"] {
            assert_eq!(
                names(&value[list][0]),
                names(&schema[list]["items"]["properties"]),
                "{list}"
            );
        }
    }
}
