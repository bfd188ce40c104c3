//! Messages as classes of Python, for `clients/python`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::camel;
use crate::model::{Answer, Body, Count, Declaration, Field, Message, Model, Type};

const START: &str = "\
# Written by `cargo run -p bindings -- python`: change the declarations, not this.
\"\"\"Messages of the binary API and their types.\"\"\"

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
from typing import ClassVar

from .codec import (
    Array, Bytes, Counted, Counter, F64, Ip4, Ip6, Mac, Message, Number, Numbers, Record, Text,
    Union, VarText, BOOL, I8, I16, I32, I64, U8, U16, U32, U64,
)

";

pub fn write(model: &Model) -> String {
    let mut out = START.to_owned();
    for declaration in &model.types {
        declare(model, declaration, &mut out);
    }
    for message in &model.messages {
        add_message(model, message, &mut out);
    }
    let names = model.messages.iter().map(|m| format!("    {},\n", camel(&m.name)));
    write!(out, "\nMESSAGES = (\n{})\n", names.collect::<String>()).expect("it is a string");
    out
}

fn declare(model: &Model, declaration: &Declaration, out: &mut String) {
    let name = camel(&declaration.name);
    let text = match &declaration.body {
        Body::Alias(..) => return,
        Body::Numbers(_, is_flags, values) => {
            let value = |(name, number): &(String, u64)| format!("    {name} = {number}\n");
            let kind = if *is_flags { "IntFlag" } else { "IntEnum" };
            let values: String = values.iter().map(value).collect();
            let body = if values.is_empty() { "    pass\n" } else { &values };
            format!("\nclass {name}({kind}):\n{body}\n")
        }
        Body::Record(fields) => {
            format!("\n@dataclass\nclass {name}(Record):\n{}", members(model, fields))
        }
        Body::Union(fields) => {
            let arm = |f: &Field| format!("(\"{}\", {}), ", f.name, layout(model, f));
            let size = fields.iter().map(|f| model.size(f)).max().unwrap_or(0);
            let arms: String = fields.iter().map(arm).collect();
            format!("\n{name} = Union(\"{name}\", {size}, ({arms}))\n")
        }
    };
    out.push_str(&text);
}

fn add_message(model: &Model, message: &Message, out: &mut String) {
    let fields = &message.fields[message.head()..];
    let about = message.about.replace(['"', '\\'], "'").replace('\n', " ");
    let (reply, rows) = match &message.answer {
        _ if message.head() < 2 => (None, None),
        Answer::None => (None, None),
        Answer::Reply(reply) => (Some(reply), None),
        Answer::Dump(rows) => (None, Some(rows)),
        Answer::Stream(rows, reply) => (Some(reply), Some(rows)),
    };
    let shown = |name: Option<&String>| name.map_or("None".to_owned(), |n| format!("\"{n}\""));
    write!(
        out,
        "\n@dataclass\nclass {}(Message):\n    \"\"\"{about}\"\"\"\n\n\
         \x20   NAME: ClassVar = \"{}\"\n    CRC: ClassVar = \"{}\"\n    HEAD: ClassVar = {}\n\
         \x20   REPLY: ClassVar = {}\n    ROWS: ClassVar = {}\n{}",
        camel(&message.name),
        message.name,
        message.crc,
        message.head(),
        shown(reply),
        shown(rows),
        members(model, fields)
    )
    .expect("it is a string");
}

/// The attributes of a class and their layout.
fn members(model: &Model, fields: &[Field]) -> String {
    let counted_by = |counter: &Field| {
        let of = |f: &&Field| f.count == Count::Counted(counter.name.clone());
        fields.iter().find(of).map(|f| f.name.clone())
    };
    let (mut declared, mut laid) = (String::new(), String::new());
    for field in fields {
        if let Some(counted) = counted_by(field) {
            let ty = layout(model, field);
            writeln!(laid, "        (\"{}\", Counter({ty}, \"{counted}\")),", field.name)
                .expect("it is a string");
            continue;
        }
        let (hint, preset) = hint(model, field);
        writeln!(declared, "    {}: {hint} = {preset}", field.name).expect("it is a string");
        writeln!(laid, "        (\"{}\", {}),", field.name, layout(model, field))
            .expect("it is a string");
    }
    format!("{declared}    LAYOUT: ClassVar = (\n{laid}    )\n\n")
}

/// Type and value by default of an attribute.
fn hint(model: &Model, field: &Field) -> (String, String) {
    let of = |name: &str, preset: &str| (name.to_owned(), preset.to_owned());
    let (hint, preset) = match &field.ty {
        _ if matches!(field.count, Count::Counted(_)) || is_array(field) => {
            let element = Field { count: Count::One, default: None, ..field.clone() };
            let (element, _) = self::hint(model, &element);
            if is_bytes(field) {
                return of("bytes", "b\"\"");
            }
            return (format!("list[{element}]"), "field(default_factory=list)".to_owned());
        }
        Type::String => of("str", "\"\""),
        Type::Plain(name) => match name.as_str() {
            "bool" => of("bool", "False"),
            "f64" => of("float", "0.0"),
            _ => of("int", "0"),
        },
        Type::Named(name) => named_hint(model, name),
    };
    let preset = match &field.default {
        Some(Value::String(text)) if text == "true" => "True".to_owned(),
        Some(Value::Number(number)) => number.to_string(),
        _ => preset,
    };
    (hint, preset)
}

fn named_hint(model: &Model, name: &str) -> (String, String) {
    let own = camel(name);
    let of = |name: &str, preset: &str| (name.to_owned(), preset.to_owned());
    match model.types.iter().find(|d| d.name == name).map(|d| &d.body) {
        _ if name == "ip4_address" => of("str", "\"0.0.0.0\""),
        _ if name == "ip6_address" => of("str", "\"::\""),
        _ if name == "mac_address" => of("str", "\"00:00:00:00:00:00\""),
        Some(Body::Numbers(..)) => (format!("{own} | int"), "0".to_owned()),
        Some(Body::Alias(ty, count)) => {
            let (ty, count) = (ty.clone(), count.clone());
            hint(model, &Field { name: String::new(), ty, count, default: None })
        }
        Some(Body::Union(_)) => of("bytes", "b\"\""),
        _ => (own.clone(), format!("field(default_factory={own})")),
    }
}

/// The expression that says how a field's bytes are.
fn layout(model: &Model, field: &Field) -> String {
    let element = match &field.ty {
        Type::String => match field.count {
            Count::Fixed(size) => return format!("Text({size})"),
            _ => return "VarText()".to_owned(),
        },
        Type::Plain(name) => name.to_uppercase(),
        Type::Named(name) => named_layout(model, name),
    };
    match &field.count {
        Count::Fixed(count) if is_bytes(field) => format!("Bytes({count})"),
        Count::Fixed(count) => format!("Array({element}, {count})"),
        Count::Counted(counter) if is_bytes(field) => format!("Bytes(\"{counter}\")"),
        Count::Counted(counter) => format!("Counted({element}, \"{counter}\")"),
        Count::One | Count::Text => element,
    }
}

fn named_layout(model: &Model, name: &str) -> String {
    match model.types.iter().find(|d| d.name == name).map(|d| &d.body) {
        _ if name == "ip4_address" => "Ip4()".to_owned(),
        _ if name == "ip6_address" => "Ip6()".to_owned(),
        _ if name == "mac_address" => "Mac()".to_owned(),
        Some(Body::Numbers(base, ..)) => {
            format!("Numbers({}, {})", base.to_uppercase(), camel(name))
        }
        Some(Body::Alias(ty, count)) => {
            let (ty, count) = (ty.clone(), count.clone());
            layout(model, &Field { name: String::new(), ty, count, default: None })
        }
        _ => camel(name),
    }
}

fn is_array(field: &Field) -> bool {
    matches!(field.count, Count::Fixed(_)) && field.ty != Type::String
}

fn is_bytes(field: &Field) -> bool {
    field.ty == Type::Plain("u8".to_owned()) && field.count != Count::One
}
