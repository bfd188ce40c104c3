//! Messages and their types, as the descriptions have them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;

/// All types and messages of all modules.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Types; those that others are made of come first.
    pub types: Vec<Declaration>,
    /// By module, in the order of their description.
    pub messages: Vec<Message>,
}

/// A type with a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Without `vl_api_` and `_t`.
    pub name: String,
    /// Its parts.
    pub body: Body,
}

/// The body of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Another name.
    Alias(Type, Count),
    /// Numbers with names: of this type, whether bits, names and values.
    Numbers(String, bool, Vec<(String, u64)>),
    /// Fields one after the other.
    Record(Vec<Field>),
    /// Fields that begin at the same byte.
    Union(Vec<Field>),
}

/// Type of one element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `u8` to `i64`, `f64`, `bool`.
    Plain(String),
    /// `string`.
    String,
    /// A [`Declaration`].
    Named(String),
}

/// The number of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Count {
    /// One.
    One,
    /// Always as many; of a string its bytes, with the NUL.
    Fixed(usize),
    /// As many as an earlier field says.
    Counted(String),
    /// A string behind its length.
    Text,
}

/// A field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Type of one element.
    pub ty: Type,
    /// Number of elements.
    pub count: Count,
    /// Value of clients that give none.
    pub default: Option<Value>,
}

/// A message.
#[derive(Clone, Debug)]
pub struct Message {
    /// The module it belongs to.
    pub module: String,
    /// Its name.
    pub name: String,
    /// The CRC, as it stands behind the name.
    pub crc: String,
    /// Its purpose.
    pub about: String,
    /// All fields but the message's number.
    pub fields: Vec<Field>,
    /// Its target.
    pub answer: Answer,
}

/// The kind of answer to a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing, or it is no request.
    None,
    /// This message.
    Reply(String),
    /// As many of this message as there are rows.
    Dump(String),
    /// Rows, then a reply.
    Stream(String, String),
}

impl Model {
    /// Reads all descriptions below a folder.
    ///
    /// # Errors
    /// A text that names the file, when one cannot be read or is no description.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut files = BTreeSet::new();
        find(folder, &mut files)?;
        let mut model = Self::default();
        let mut types = BTreeMap::new();
        for path in files {
            let shown = path.display();
            let text = fs::read_to_string(&path).map_err(|e| format!("{shown}: {e}"))?;
            let file: Value = serde_json::from_str(&text).map_err(|e| format!("{shown}: {e}"))?;
            let added = model.add(&file, &mut types);
            added.ok_or_else(|| format!("{shown} does not describe messages"))?;
        }
        let names: Vec<_> = types.keys().cloned().collect();
        for name in names {
            model.place(&name, &mut types);
        }
        Ok(model)
    }

    fn add(&mut self, file: &Value, types: &mut BTreeMap<String, Body>) -> Option<()> {
        for (kind, is_flags) in [("enums", false), ("enumflags", true)] {
            for item in file[kind].as_array()? {
                let parts = item.as_array()?;
                let base = parts.last()?["enumtype"].as_str()?.to_owned();
                let number = |v: &Value| Some((v[0].as_str()?.to_owned(), v[1].as_u64()?));
                let values = parts[1..parts.len() - 1].iter().map(number).collect::<Option<_>>()?;
                types.insert(item[0].as_str()?.to_owned(), Body::Numbers(base, is_flags, values));
            }
        }
        for (kind, body) in [("types", Body::Record as fn(_) -> _), ("unions", Body::Union)] {
            for item in file[kind].as_array()? {
                types.insert(item[0].as_str()?.to_owned(), body(fields(&item.as_array()?[1..])?));
            }
        }
        for (name, alias) in file["aliases"].as_object()? {
            let count = alias["length"].as_u64().map_or(Count::One, |n| Count::Fixed(n as usize));
            types.insert(name.clone(), Body::Alias(named(alias["type"].as_str()?), count));
        }
        for item in file["messages"].as_array()? {
            let name = item[0].as_str()?.to_owned();
            let parts = item.as_array()?;
            let about = parts.last()?;
            self.messages.push(Message {
                module: file["module"].as_str()?.to_owned(),
                answer: answer(&file["services"][&name]),
                name,
                crc: about["crc"].as_str()?.trim_start_matches("0x").to_owned(),
                about: about["comment"].as_str().unwrap_or_default().to_owned(),
                fields: fields(&parts[2..])?,
            });
        }
        Some(())
    }

    /// Puts a type behind those it is made of.
    fn place(&mut self, name: &str, types: &mut BTreeMap<String, Body>) {
        let Some(body) = types.remove(name) else { return };
        let parts: Vec<&Type> = match &body {
            Body::Alias(ty, _) => vec![ty],
            Body::Numbers(..) => Vec::new(),
            Body::Record(fields) | Body::Union(fields) => fields.iter().map(|f| &f.ty).collect(),
        };
        for part in parts {
            if let Type::Named(part) = part {
                self.place(part, types);
            }
        }
        self.types.push(Declaration { name: name.to_owned(), body });
    }

    /// Least bytes of a field.
    pub fn size(&self, field: &Field) -> usize {
        match field.count {
            Count::One => self.size_of(&field.ty),
            Count::Fixed(count) => count * self.size_of(&field.ty),
            Count::Counted(_) => 0,
            Count::Text => 4,
        }
    }

    fn size_of(&self, ty: &Type) -> usize {
        let name = match ty {
            Type::String => return 1,
            Type::Plain(name) => return plain_size(name),
            Type::Named(name) => name,
        };
        let body = self.types.iter().find(|d| d.name == *name).map(|d| &d.body);
        match body {
            Some(Body::Alias(ty, Count::Fixed(count))) => count * self.size_of(ty),
            Some(Body::Alias(ty, _)) => self.size_of(ty),
            Some(Body::Numbers(base, ..)) => plain_size(base),
            Some(Body::Record(fields)) => fields.iter().map(|f| self.size(f)).sum(),
            Some(Body::Union(fields)) => fields.iter().map(|f| self.size(f)).max().unwrap_or(0),
            None => 0,
        }
    }
}

impl Message {
    /// Count of its fields in front of those that carry something, and so are not its user's: the
    /// client's number and the request's, or this alone.
    pub fn head(&self) -> usize {
        let is = |at: usize, name: &str| self.fields.get(at).is_some_and(|f| f.name == name);
        match (is(0, "client_index"), is(0, "context"), is(1, "context")) {
            (true, _, true) => 2,
            (_, true, _) => 1,
            _ => 0,
        }
    }
}

fn plain_size(name: &str) -> usize {
    match name {
        "u16" | "i16" => 2,
        "u32" | "i32" => 4,
        "u64" | "i64" | "f64" => 8,
        _ => 1,
    }
}

fn find(folder: &Path, files: &mut BTreeSet<std::path::PathBuf>) -> Result<(), String> {
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path.to_string_lossy().ends_with(".api.json") {
            files.insert(path);
        }
    }
    Ok(())
}

fn named(name: &str) -> Type {
    match name.strip_prefix("vl_api_").and_then(|name| name.strip_suffix("_t")) {
        Some(name) => Type::Named(name.to_owned()),
        None if name == "string" => Type::String,
        None => Type::Plain(name.to_owned()),
    }
}

fn fields(items: &[Value]) -> Option<Vec<Field>> {
    items.iter().filter(|item| item.is_array()).map(field).collect()
}

fn field(item: &Value) -> Option<Field> {
    let ty = named(item[0].as_str()?);
    let count = match (item[2].as_u64(), item[3].as_str()) {
        (Some(0), Some(counter)) => Count::Counted(counter.to_owned()),
        (Some(0), None) => Count::Text,
        (Some(count), _) => Count::Fixed(count as usize),
        (None, _) => Count::One,
    };
    let default = item[2].get("default").cloned();
    Some(Field { name: item[1].as_str()?.to_owned(), ty, count, default })
}

fn answer(service: &Value) -> Answer {
    let name = |key: &str| service[key].as_str().filter(|n| *n != "null").map(str::to_owned);
    match (name("reply"), service["stream"] == true, name("stream_msg")) {
        (Some(reply), true, Some(rows)) => Answer::Stream(rows, reply),
        (Some(rows), true, None) => Answer::Dump(rows),
        (Some(reply), false, _) => Answer::Reply(reply),
        (None, ..) => Answer::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_descriptions_are_understood() {
        let model = Model::read(crate::DESCRIPTIONS.as_ref()).unwrap();
        let of = |name: &str| model.messages.iter().find(|m| m.name == name).unwrap();
        let add = of("ip_route_add_del_v2");
        assert_eq!((add.head(), add.crc.as_str(), add.fields.len()), (2, "521ef330", 5));
        assert_eq!(add.answer, Answer::Reply("ip_route_add_del_v2_reply".into()));
        assert_eq!(of("ip_route_v2_dump").answer, Answer::Dump("ip_route_v2_details".into()));
        let rows = ("trace_details".into(), "trace_dump_reply".into());
        assert_eq!(of("trace_dump").answer, Answer::Stream(rows.0, rows.1));
        let at = |name: &str| model.types.iter().position(|t| t.name == name).unwrap();
        assert!(at("address_union") < at("address") && at("address") < at("prefix"));
        let prefix = Type::Named("prefix".into());
        let field = Field { name: String::new(), ty: prefix, count: Count::One, default: None };
        assert_eq!(model.size(&field), 18);
    }
}
