//! Messages as structs of Rust, for `clients/rust`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::camel;
use crate::model::{Answer, Body, Count, Declaration, Field, Message, Model, Type};

pub fn write(model: &Model) -> String {
    let mut out = String::new();
    for declaration in &model.types {
        declare(model, declaration, &mut out);
    }
    for message in &model.messages {
        add_message(model, message, &mut out);
    }
    out
}

fn declare(model: &Model, declaration: &Declaration, out: &mut String) {
    let name = camel(&declaration.name);
    let about = format!("/// `{}`.\n", declaration.name);
    match &declaration.body {
        Body::Alias(ty, count) => {
            let ty = of_count(element(ty), count);
            write!(out, "{about}pub type {name} = {ty};\n\n").expect("it is a string");
        }
        Body::Numbers(base, _, values) => {
            let value = |(value, number): &(String, u64)| {
                format!("/// `{value}`.\npub const {value}: Self = Self({number});\n")
            };
            let values: String = values.iter().map(value).collect();
            write!(
                out,
                "{about}#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]\n\
                 pub struct {name}(/// Any number.\npub {base});\n\n\
                 impl {name} {{\n{values}}}\n\n\
                 impl Codec for {name} {{\n\
                 fn encode(&self, out: &mut Vec<u8>) {{ self.0.encode(out); }}\n\
                 fn decode(from: &mut &[u8]) -> Result<Self, Short> {{ \
                 Codec::decode(from).map(Self) }}\n}}\n\n"
            )
            .expect("it is a string");
        }
        Body::Record(fields) => add_struct(model, &name, &about, fields, out),
        Body::Union(fields) => {
            let size = fields.iter().map(|f| model.size(f)).max().unwrap_or(0);
            let arm = |field: &Field| {
                let (arm, ty) = (&field.name, of_count(element(&field.ty), &field.count));
                format!(
                    "/// As `{arm}`.\npub fn {arm}(&self) -> Result<{ty}, Short> {{ \
                     Codec::decode(&mut &self.0[..]) }}\n\
                     /// Of `{arm}`.\npub fn of_{arm}(value: &{ty}) -> Self {{ \
                     Self(padded(value)) }}\n"
                )
            };
            let arms: String = fields.iter().map(arm).collect();
            write!(
                out,
                "{about}#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n\
                 pub struct {name}(/// The bytes, those that the arm does not need being 0.\n\
                 pub [u8; {size}]);\n\n\
                 impl Default for {name} {{\nfn default() -> Self {{ Self([0; {size}]) }}\n}}\n\n\
                 impl {name} {{\n{arms}}}\n\n\
                 impl Codec for {name} {{\n\
                 fn encode(&self, out: &mut Vec<u8>) {{ self.0.encode(out); }}\n\
                 fn decode(from: &mut &[u8]) -> Result<Self, Short> {{ \
                 Codec::decode(from).map(Self) }}\n}}\n\n"
            )
            .expect("it is a string");
        }
    }
}

fn add_message(model: &Model, message: &Message, out: &mut String) {
    let name = camel(&message.name);
    let about = format!("/// {} (`{}`)\n", message.about.replace('\n', " "), message.name);
    let fields = &message.fields[message.head()..];
    add_struct(model, &name, &about, fields, out);
    let head = message.head();
    let has_retval = fields.iter().any(|f| f.name == "retval");
    let retval = if has_retval { "self.retval as i32" } else { "0" };
    write!(
        out,
        "impl Message for {name} {{\nconst NAME: &'static str = \"{}_{}\";\n\
         const HEAD: usize = {head};\nfn retval(&self) -> i32 {{ {retval} }}\n}}\n\n",
        message.name, message.crc
    )
    .expect("it is a string");
    if head < 2 {
        return;
    }
    match &message.answer {
        Answer::None => {}
        Answer::Reply(reply) => {
            let reply = camel(reply);
            writeln!(out, "impl Call for {name} {{ type Reply = {reply}; }}\n")
                .expect("it is a string");
        }
        Answer::Dump(rows) => {
            let rows = camel(rows);
            writeln!(out, "impl Dump for {name} {{ type Details = {rows}; }}\n")
                .expect("it is a string");
        }
        Answer::Stream(rows, reply) => {
            let (rows, reply) = (camel(rows), camel(reply));
            writeln!(
                out,
                "impl Stream for {name} {{ type Details = {rows}; type Reply = {reply}; }}\n"
            )
            .expect("it is a string");
        }
    }
}

/// A struct with its code. Fields that count others are not among its own.
fn add_struct(model: &Model, name: &str, about: &str, fields: &[Field], out: &mut String) {
    let is_counter =
        |field: &Field| fields.iter().any(|f| f.count == Count::Counted(field.name.clone()));
    let mut text = [const { String::new() }; 5];
    let [declared, encoded, decoded, names, presets] = &mut text;
    for field in fields {
        let own = raw(&field.name);
        if is_counter(field) {
            let of = |f: &&Field| f.count == Count::Counted(field.name.clone());
            let counted = raw(&fields.iter().find(of).expect("there is one").name);
            let Type::Plain(ty) = &field.ty else { continue };
            *encoded += &format!("(self.{counted}.len() as {ty}).encode(out);\n");
            *decoded += &format!("let {own} = {ty}::decode(from)? as usize;\n");
            continue;
        }
        let ty = of_count(element(&field.ty), &field.count);
        *declared += &format!("/// `{}`.\npub {own}: {ty},\n", field.name);
        *names += &format!("{own}, ");
        *presets += &format!("{own}: {}, ", preset(model, field));
        let (put, take) = match (&field.ty, &field.count) {
            (Type::String, Count::Fixed(size)) => (
                format!("put_text(&self.{own}, {size}, out);\n"),
                format!("take_text({size}, from)?"),
            ),
            (_, Count::Counted(counter)) => (
                format!("put_all(&self.{own}, out);\n"),
                format!("take_all({}, from)?", raw(counter)),
            ),
            _ => (format!("self.{own}.encode(out);\n"), "Codec::decode(from)?".to_owned()),
        };
        *encoded += &put;
        *decoded += &format!("let {own} = {take};\n");
    }
    let [declared, encoded, decoded, names, presets] = &text;
    let used = if encoded.is_empty() { "_" } else { "" };
    write!(
        out,
        "{about}#[derive(Clone, Debug, PartialEq)]\npub struct {name} {{\n{declared}}}\n\n\
         impl Default for {name} {{\nfn default() -> Self {{ Self {{ {presets} }} }}\n}}\n\n\
         impl Codec for {name} {{\nfn encode(&self, {used}out: &mut Vec<u8>) {{\n{encoded}}}\n\
         fn decode({used}from: &mut &[u8]) -> Result<Self, Short> {{\n{decoded}\
         Ok(Self {{ {names} }})\n}}\n}}\n\n"
    )
    .expect("it is a string");
}

/// Value of a field whose message is made by default.
fn preset(model: &Model, field: &Field) -> String {
    let plain = "Default::default()".to_owned();
    if field.ty != Type::String && matches!(field.count, Count::Fixed(_)) {
        return "std::array::from_fn(|_| Default::default())".to_owned();
    }
    let (Some(value), Count::One) = (&field.default, &field.count) else { return plain };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match &field.ty {
        Type::Plain(ty) if ty == "bool" => (text == "true" || text == "1").to_string(),
        Type::Plain(ty) if ty == "f64" => match text.parse::<f64>() {
            Ok(number) => format!("{number:?}"),
            Err(_) => plain,
        },
        Type::Named(name) if text.parse::<u32>().is_ok() => {
            let is_it = |d: &&Declaration| d.name == *name;
            match model.types.iter().find(is_it).map(|d| &d.body) {
                Some(Body::Numbers(..)) => format!("{}({text})", camel(name)),
                Some(Body::Alias(Type::Plain(_), Count::One)) => text,
                _ => plain,
            }
        }
        Type::Plain(_) if text.parse::<i64>().is_ok() => text,
        _ => plain,
    }
}

/// Name of a field in Rust: lower case, as the compiler asks for, and no word of the language.
fn raw(name: &str) -> String {
    let name = name.to_lowercase();
    let is_word = ["type", "match", "ref", "use", "mod", "in", "loop", "move", "priv", "final"];
    if is_word.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

fn element(ty: &Type) -> String {
    match ty {
        Type::Plain(name) => name.clone(),
        Type::String => "String".to_owned(),
        Type::Named(name) => camel(name),
    }
}

fn of_count(element: String, count: &Count) -> String {
    match count {
        _ if element == "String" => element,
        Count::Fixed(count) => format!("[{element}; {count}]"),
        Count::Counted(_) => format!("Vec<{element}>"),
        Count::One | Count::Text => element,
    }
}
