//! Declarations that plugins give as text, kept once and for good: a plugin that comes back a
//! hundred times finds what it said the first time.
#![forbid(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use control::api::schema::{Count, FieldInfo, Head, MessageInfo, Type};
use control::api::types::{Address, Prefix};
use control::api::{Field, plain_reply};
use graph::CounterText;
use net::InterfaceIndex;
use wire::MacAddr;

/// Declarations of plugins since the start.
#[derive(Default)]
pub struct Declared {
    texts: HashSet<&'static str>,
    lists: HashMap<Vec<[&'static str; 3]>, &'static [CounterText]>,
    messages: HashMap<[String; 4], &'static MessageInfo>,
}

impl Declared {
    /// A text that stays.
    pub fn text(&mut self, text: &str) -> &'static str {
        if let Some(known) = self.texts.get(text) {
            return known;
        }
        let text: &'static str = Box::leak(text.into());
        self.texts.insert(text);
        text
    }

    /// Counters of a node: names, texts and severity.
    pub fn counters(
        &mut self,
        texts: &[(String, String)],
        severity: &'static str,
    ) -> &'static [CounterText] {
        let key: Vec<_> =
            texts.iter().map(|(name, text)| [self.text(name), self.text(text), severity]).collect();
        self.lists.entry(key).or_insert_with_key(|key| {
            let row =
                |[name, text, severity]: &[&'static str; 3]| CounterText { name, text, severity };
            key.iter().map(row).collect::<Vec<_>>().leak()
        })
    }

    /// A message with the head that belongs to it and these fields.
    ///
    /// # Errors
    /// What cannot be read of the fields.
    pub fn message(
        &mut self,
        name: &str,
        about: &str,
        head: Head,
        fields: &str,
    ) -> Result<&'static MessageInfo, String> {
        let key = [name, about, &format!("{head:?}"), fields].map(str::to_owned);
        if let Some(known) = self.messages.get(&key) {
            return Ok(known);
        }
        let (name, about) = (self.text(name), self.text(about));
        let fields = self.fields(fields)?;
        let size = fields.iter().map(control::api::least_size).sum();
        let info = if fields.is_empty() && head == Head::Reply {
            plain_reply(name, &[])
        } else {
            MessageInfo { name, about, head, fields: fields.leak(), options: &[], size }
        };
        let info: &'static MessageInfo = Box::leak(Box::new(info));
        self.messages.insert(key, info);
        Ok(info)
    }

    /// Fields such as `interface_index sw_if_index; u32 numbers[4]; string name[64];`.
    fn fields(&mut self, text: &str) -> Result<Vec<FieldInfo>, String> {
        let fields = text.split(';').map(str::trim).filter(|field| !field.is_empty());
        let mut all: Vec<FieldInfo> = Vec::new();
        for field in fields {
            let (ty, name) = field.split_once(' ').ok_or_else(|| unclear(field))?;
            let (name, count) = match name.trim().strip_suffix(']') {
                None => (name.trim(), Count::One),
                Some(array) => {
                    let (name, len) = array.split_once('[').ok_or_else(|| unclear(field))?;
                    let len = len.parse().ok().filter(|len| *len > 0);
                    (name.trim(), Count::Fixed(len.ok_or_else(|| unclear(field))?))
                }
            };
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if name.is_empty() || !name.chars().all(is_plain) || all.iter().any(|f| f.name == name)
            {
                return Err(unclear(field));
            }
            let ty = type_of(ty).ok_or_else(|| format!("unknown type in `{field}'"))?;
            if matches!((ty, count), (Type::String, Count::One)) {
                return Err(format!("`{field}' needs a length"));
            }
            all.push(FieldInfo { count, ..FieldInfo::one(self.text(name), ty, "") });
        }
        Ok(all)
    }
}

fn unclear(field: &str) -> String {
    format!("cannot read the field `{field}'")
}

fn type_of(name: &str) -> Option<Type> {
    Some(match name {
        "u8" => Type::U8,
        "i8" => Type::I8,
        "u16" => Type::U16,
        "i16" => Type::I16,
        "u32" => Type::U32,
        "i32" => Type::I32,
        "u64" => Type::U64,
        "i64" => Type::I64,
        "bool" => Type::Bool,
        "string" => Type::String,
        "interface_index" => InterfaceIndex::TYPE,
        "ip4_address" => Ipv4Addr::TYPE,
        "ip6_address" => Ipv6Addr::TYPE,
        "address" => Address::TYPE,
        "prefix" => Prefix::TYPE,
        "mac_address" => MacAddr::TYPE,
        _ => return None,
    })
}
