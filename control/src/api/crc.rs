//! CRCs of messages and files: CRC-32 (IEEE 802.3) over the declarations written in the one form
//! that all clients and the original agree on.

use std::fmt::Write;

use super::schema::{Body, Count, Declaration, FieldInfo, MessageInfo, Type};

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = if value & 1 == 1 { 0xedb8_8320 ^ (value >> 1) } else { value >> 1 };
            bit += 1;
        }
        table[at] = value;
        at += 1;
    }
    table
};

/// Goes on with the CRC `before` (0 at the start) over `text`.
pub fn crc32(text: &str, before: u32) -> u32 {
    let step = |crc: u32, byte: u8| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    !text.bytes().fold(!before, step)
}

/// The CRC that is part of a message's name for clients.
pub fn of_message(message: &MessageInfo) -> u32 {
    let own = fields_text(message.all_fields());
    message.all_fields().fold(crc32(&own, 0), |crc, field| of_type(&field.ty, crc))
}

/// Goes on over a declared type and what it is made of.
fn of_type(ty: &Type, crc: u32) -> u32 {
    let Type::Named(declaration) = ty else { return crc };
    let crc = crc32(&own_text(declaration), crc);
    match declaration.body {
        Body::Record(fields) | Body::Union(fields) => {
            fields.iter().fold(crc, |crc, field| of_type(&field.ty, crc))
        }
        Body::Alias(..) | Body::Numbers { .. } => crc,
    }
}

/// A message as the CRC of its file sees it.
pub fn message_text(message: &MessageInfo) -> String {
    fields_text(message.all_fields())
}

/// A type as CRCs see it, without the types it is made of.
pub fn own_text(declaration: &Declaration) -> String {
    match declaration.body {
        Body::Record(fields) | Body::Union(fields) => fields_text(fields.iter()),
        Body::Alias(..) => "[]".to_owned(),
        Body::Numbers { values, .. } => {
            let counts = values.iter().filter(|v| !v.is_backwards_compatible);
            let values: Vec<_> = counts.map(|v| format!("['{}', {}]", v.name, v.value)).collect();
            format!("[{}]", values.join(", "))
        }
    }
}

fn fields_text<'a>(fields: impl Iterator<Item = &'a FieldInfo>) -> String {
    let mut text = "[".to_owned();
    for field in fields {
        if text.len() > 1 {
            text.push_str(", ");
        }
        field_text(field, &mut text).expect("a String takes all text");
    }
    text.push(']');
    text
}

fn field_text(field: &FieldInfo, out: &mut String) -> std::fmt::Result {
    write!(out, "['{}', '{}'", type_name(&field.ty), field.name)?;
    match field.count {
        Count::One => write!(out, "]"),
        Count::Fixed(count) => write!(out, ", {count}, None]"),
        Count::Counted(by) => write!(out, ", 0, '{by}']"),
        Count::Text => write!(out, ", 0, None]"),
    }
}

/// A type as declarations spell it.
pub fn type_name(ty: &Type) -> String {
    let plain = match ty {
        Type::U8 => "u8",
        Type::I8 => "i8",
        Type::U16 => "u16",
        Type::I16 => "i16",
        Type::U32 => "u32",
        Type::I32 => "i32",
        Type::U64 => "u64",
        Type::I64 => "i64",
        Type::F64 => "f64",
        Type::Bool => "bool",
        Type::String => "string",
        Type::Named(declaration) => return format!("vl_api_{}_t", declaration.name),
    };
    plain.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_check_value_of_crc_32() {
        assert_eq!(crc32("123456789", 0), 0xcbf4_3926);
        assert_eq!(crc32("6789", crc32("12345", 0)), 0xcbf4_3926);
    }
}
