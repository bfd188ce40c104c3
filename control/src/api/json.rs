//! Messages as JSON and back, by their declarations: an object with `_msgname`, `_crc` and the
//! fields. Addresses, prefixes and MAC addresses are text, numbers with names are those, bytes are
//! `0x…`.

use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};
use wire::MacAddr;

use super::directory::Directory;
use super::field::{Field, Reader, Short};
use super::message::least_size;
use super::schema::{Body, Count, Declaration, FieldInfo, MessageInfo, Preset, Type};
use super::types::{Address, Prefix};
use crate::secret::HIDDEN;

/// Whether hidden fields are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Secrets {
    /// To be shown: they are not.
    Hidden,
    /// To be replayed.
    Kept,
}

/// A message that begins with its number; `None` when there is none of this number or it is short.
pub(super) fn of(directory: &Directory, message: &[u8], secrets: Secrets) -> Option<Value> {
    let (id, rest) = message.split_first_chunk()?;
    let (_, info, crc) = directory.at(u16::from_be_bytes(*id))?;
    of_message(info, crc, rest, secrets).ok()
}

/// The fields of a message whose number is not in `bytes` any more.
pub(super) fn of_message(
    info: &MessageInfo,
    crc: u32,
    bytes: &[u8],
    secrets: Secrets,
) -> Result<Value, Short> {
    let mut object = Map::new();
    object.insert("_msgname".to_owned(), json!(info.name));
    object.insert("_crc".to_owned(), json!(format!("{crc:08x}")));
    let mut from = Reader::new(bytes);
    let fields: Vec<_> = info.all_fields().copied().collect();
    read_record(&fields, &mut from, &mut object, secrets)?;
    Ok(Value::Object(object))
}

/// The bytes of a message without its number. What is not said is its default, or zero.
///
/// # Errors
/// Name of the field that does not match its declaration.
pub(super) fn to_message(info: &MessageInfo, object: &Value) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let fields: Vec<_> = info.all_fields().copied().collect();
    write_record(&fields, object, &mut out)?;
    Ok(out)
}

fn read_record(
    fields: &[FieldInfo],
    from: &mut Reader<'_>,
    object: &mut Map<String, Value>,
    secrets: Secrets,
) -> Result<(), Short> {
    for field in fields {
        let mut value = match field.count {
            Count::One => read(&field.ty, from, secrets)?,
            Count::Text => Value::String(String::decode(from)?),
            Count::Fixed(count) => read_array(&field.ty, count, from, secrets)?,
            Count::Counted(by) => {
                let count = object.get(by).and_then(Value::as_u64).unwrap_or(0);
                let count = usize::try_from(count).map_err(|_| Short)?;
                read_array(&field.ty, count, from, secrets)?
            }
        };
        if field.is_secret && secrets == Secrets::Hidden {
            value = json!(HIDDEN);
        }
        object.insert(field.name.to_owned(), value);
    }
    Ok(())
}

fn read_array(
    ty: &Type,
    count: usize,
    from: &mut Reader<'_>,
    secrets: Secrets,
) -> Result<Value, Short> {
    match ty {
        Type::U8 => Ok(hex(from.take(count)?)),
        Type::String => {
            let bytes = from.take(count)?;
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(count);
            Ok(json!(String::from_utf8_lossy(&bytes[..end])))
        }
        ty => {
            let least = least_size(&FieldInfo::one("", *ty, "")).max(1);
            if count.checked_mul(least).is_none_or(|bytes| bytes > from.len()) {
                return Err(Short);
            }
            (0..count).map(|_| read(ty, from, secrets)).collect()
        }
    }
}

fn read(ty: &Type, from: &mut Reader<'_>, secrets: Secrets) -> Result<Value, Short> {
    Ok(match ty {
        Type::U8 => json!(u8::decode(from)?),
        Type::I8 => json!(i8::decode(from)?),
        Type::U16 => json!(u16::decode(from)?),
        Type::I16 => json!(i16::decode(from)?),
        Type::U32 => json!(u32::decode(from)?),
        Type::I32 => json!(i32::decode(from)?),
        Type::U64 => json!(u64::decode(from)?),
        Type::I64 => json!(i64::decode(from)?),
        Type::F64 => json!(f64::decode(from)?),
        Type::Bool => json!(bool::decode(from)?),
        Type::String => read_array(ty, 1, from, secrets)?,
        Type::Named(declaration) => read_named(declaration, from, secrets)?,
    })
}

fn read_named(
    declaration: &Declaration,
    from: &mut Reader<'_>,
    secrets: Secrets,
) -> Result<Value, Short> {
    if let Some(text) = read_text(declaration.name, &mut from.clone())? {
        from.take(least_size(&FieldInfo::one("", named_size(declaration), "")))?;
        return Ok(text);
    }
    match declaration.body {
        Body::Alias(ty, Count::Fixed(count)) => read_array(&ty, count, from, secrets),
        Body::Alias(ty, _) => read(&ty, from, secrets),
        Body::Numbers { base, values, .. } => {
            let number = read(&base, from, secrets)?;
            let name = values.iter().find(|v| Some(u64::from(v.value)) == number.as_u64());
            Ok(name.map_or(number, |v| json!(v.name)))
        }
        Body::Record(fields) => {
            let mut object = Map::new();
            read_record(fields, from, &mut object, secrets)?;
            Ok(Value::Object(object))
        }
        Body::Union(fields) => {
            let size = fields.iter().map(least_size).max().unwrap_or(0);
            Ok(hex(from.take(size)?))
        }
    }
}

/// A type as a field's, without borrowing its declaration forever.
fn named_size(declaration: &Declaration) -> Type {
    // All types with a text form have a fixed size, and so has this stand-in.
    match declaration.name {
        "mac_address" => MacAddr::TYPE,
        "ip4_address" => Ipv4Addr::TYPE,
        "ip6_address" => Ipv6Addr::TYPE,
        "address" => Address::TYPE,
        _ => Prefix::TYPE,
    }
}

/// Value of a type that people write as text; `None` for other types and for values without such a
/// form.
fn read_text(name: &str, from: &mut Reader<'_>) -> Result<Option<Value>, Short> {
    Ok(match name {
        "mac_address" => Some(json!(MacAddr::decode(from)?.to_string())),
        "ip4_address" => Some(json!(Ipv4Addr::decode(from)?.to_string())),
        "ip6_address" => Some(json!(Ipv6Addr::decode(from)?.to_string())),
        "address" => Address::decode(from)?.native().ok().map(|a| json!(a.to_string())),
        "prefix" => Prefix::decode(from)?.native().ok().map(|p| json!(p.to_string())),
        _ => None,
    })
}

/// Appends what the text form of `name` means.
fn write_text(name: &str, text: &str, out: &mut Vec<u8>) -> Option<()> {
    match name {
        "mac_address" => text.parse::<MacAddr>().ok()?.encode(out),
        "ip4_address" => text.parse::<Ipv4Addr>().ok()?.encode(out),
        "ip6_address" => text.parse::<Ipv6Addr>().ok()?.encode(out),
        "address" => Address::from(text.parse::<std::net::IpAddr>().ok()?).encode(out),
        "prefix" => Prefix::from(text.parse::<wire::Prefix>().ok()?).encode(out),
        _ => return None,
    }
    Some(())
}

fn write_record(fields: &[FieldInfo], object: &Value, out: &mut Vec<u8>) -> Result<(), String> {
    for field in fields {
        let counts = fields.iter().find(|f| f.count == Count::Counted(field.name));
        let value = match counts {
            Some(array) => json!(elements(array, &object[array.name])),
            None => match &object[field.name] {
                Value::Null => default(field),
                value => value.clone(),
            },
        };
        write_field(field, &value, out).ok_or_else(|| match field.is_secret {
            true => format!("{}: {HIDDEN}", field.name),
            false => format!("{}: {value}", field.name),
        })?;
    }
    Ok(())
}

/// Number of elements of an array in JSON.
fn elements(array: &FieldInfo, value: &Value) -> usize {
    match (array.ty, value) {
        (Type::U8, Value::String(text)) => text.len().saturating_sub(2) / 2,
        (_, Value::Array(items)) => items.len(),
        _ => 0,
    }
}

fn default(field: &FieldInfo) -> Value {
    let preset = field.options.iter().find(|(name, _)| *name == "default");
    match preset.map(|(_, preset)| *preset) {
        Some(Preset::Number(number)) => json!(number),
        Some(Preset::Real(number)) => json!(number),
        Some(Preset::Word(word)) => json!(word.eq_ignore_ascii_case("true")),
        _ => Value::Null,
    }
}

fn write_field(field: &FieldInfo, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    match field.count {
        Count::One => write(&field.ty, value, out),
        Count::Text => {
            value.as_str().unwrap_or_default().to_owned().encode(out);
            Some(())
        }
        Count::Fixed(count) => write_array(&field.ty, Some(count), value, out),
        Count::Counted(_) => write_array(&field.ty, None, value, out),
    }
}

/// Appends an array; of a fixed length it is filled up with zeros.
fn write_array(ty: &Type, count: Option<usize>, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    let size = count.map(|count| count * least_size(&FieldInfo::one("", *ty, "")));
    match (ty, value) {
        (Type::String, Value::String(text)) => out.extend(text.as_bytes()),
        (Type::U8, Value::String(text)) => out.extend(unhex(text)?),
        (_, Value::Array(items)) => items.iter().try_for_each(|item| write(ty, item, out))?,
        (_, Value::Null) => {}
        _ => return None,
    }
    match size {
        Some(size) if out.len() - start > size => None,
        Some(size) => {
            out.resize(start + size, 0);
            Some(())
        }
        None => Some(()),
    }
}

fn write(ty: &Type, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    if value.is_null() {
        out.resize(out.len() + least_size(&FieldInfo::one("", *ty, "")), 0);
        return Some(());
    }
    match ty {
        Type::U8 => u8::try_from(value.as_u64()?).ok()?.encode(out),
        Type::I8 => i8::try_from(value.as_i64()?).ok()?.encode(out),
        Type::U16 => u16::try_from(value.as_u64()?).ok()?.encode(out),
        Type::I16 => i16::try_from(value.as_i64()?).ok()?.encode(out),
        Type::U32 => u32::try_from(value.as_u64()?).ok()?.encode(out),
        Type::I32 => i32::try_from(value.as_i64()?).ok()?.encode(out),
        Type::U64 => value.as_u64()?.encode(out),
        Type::I64 => value.as_i64()?.encode(out),
        Type::F64 => value.as_f64()?.encode(out),
        Type::Bool => (value.as_bool().or(value.as_u64().map(|n| n != 0))?).encode(out),
        Type::String => return write_array(ty, Some(1), value, out),
        Type::Named(declaration) => return write_named(declaration, value, out),
    }
    Some(())
}

fn write_named(declaration: &Declaration, value: &Value, out: &mut Vec<u8>) -> Option<()> {
    if let Some(text) = value.as_str()
        && write_text(declaration.name, text, out).is_some()
    {
        return Some(());
    }
    match declaration.body {
        Body::Alias(ty, Count::Fixed(count)) => write_array(&ty, Some(count), value, out),
        Body::Alias(ty, _) => write(&ty, value, out),
        Body::Numbers { base, values, .. } => match value.as_str() {
            Some(name) => {
                let number = values.iter().find(|v| v.name == name)?.value;
                write(&base, &json!(number), out)
            }
            None => write(&base, value, out),
        },
        Body::Record(fields) => write_record(fields, value, out).ok(),
        Body::Union(fields) => {
            let size = fields.iter().map(least_size).max().unwrap_or(0);
            write_array(&Type::U8, Some(size), value, out)
        }
    }
}

fn hex(bytes: &[u8]) -> Value {
    Value::String(format!("0x{}", crate::cli::hex(bytes)))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        u8::from_str_radix(std::str::from_utf8(pair).ok().filter(|p| p.len() == 2)?, 16).ok()
    });
    pairs.collect()
}
