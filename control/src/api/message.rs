//! The trait of messages, and the kinds of answers to a request.

use super::field::{Field, Reader, Short};
use super::schema::{Count, FieldInfo, Head, MessageInfo, Options, Type};

/// A message: a struct with its own fields in order. Derive it.
pub trait Message: Sized + 'static {
    /// Its declaration.
    const INFO: &'static MessageInfo;

    /// Appends the bytes of its own fields.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes its own fields.
    fn decode(from: &mut Reader<'_>) -> Result<Self, Short>;
}

/// Fields that several messages have, in order. Derive it.
pub trait Fields: Sized + 'static {
    /// Their declarations.
    const FIELDS: &'static [FieldInfo];
    /// Least bytes.
    const SIZE: usize;

    /// Appends their bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes their bytes.
    fn decode(from: &mut Reader<'_>) -> Result<Self, Short>;
}

/// A request: what may be asked for besides its answer.
pub trait Request: Message {
    /// Events that it registers its client for.
    const EVENTS: &'static [&'static MessageInfo] = &[];
}

/// A request with one reply: derived by `#[reply(…)]`, by `#[replies(…)]` with the fields of the
/// reply, and by nothing at all, which means a reply that has only the number of the error.
pub trait Call: Request {
    /// Reply to it; `()` for the reply without fields.
    type Reply: Reply;
    /// Declaration of the reply.
    const REPLY: &'static MessageInfo;
}

/// A request for a table, answered by a message for each row and nothing else: `#[details(…)]`.
pub trait Dump: Request {
    /// A row.
    type Details: Message;
}

/// A request for a table, answered by rows and then a reply: `#[stream(Details, Reply)]`.
pub trait Stream: Request {
    /// A row.
    type Details: Message;
    /// The message after the rows.
    type Reply: Message;
}

/// The fields of a reply.
pub trait Reply: Sized {
    /// Appends the bytes of its own fields.
    fn encode_reply(&self, out: &mut Vec<u8>);
    /// Takes its own fields.
    fn decode_reply(from: &mut Reader<'_>) -> Result<Self, Short>;
}

impl Reply for () {
    fn encode_reply(&self, _: &mut Vec<u8>) {}

    fn decode_reply(_: &mut Reader<'_>) -> Result<Self, Short> {
        Ok(())
    }
}

impl<M: Message> Reply for M {
    fn encode_reply(&self, out: &mut Vec<u8>) {
        Message::encode(self, out);
    }

    fn decode_reply(from: &mut Reader<'_>) -> Result<Self, Short> {
        Message::decode(from)
    }
}

/// The reply that has nothing but the number of the error, and the options of its request.
pub const fn plain_reply(name: &'static str, options: Options) -> MessageInfo {
    MessageInfo { name, about: "", head: Head::Reply, fields: &[], options, size: 0 }
}

/// The reply that has these fields, and the options of its request.
pub const fn reply_of<F: Fields>(name: &'static str, options: Options) -> MessageInfo {
    MessageInfo { name, about: "", head: Head::Reply, fields: F::FIELDS, options, size: F::SIZE }
}

impl MessageInfo {
    /// Offset of `retval` from the start of the message, in bytes; `None` without one.
    pub fn retval_at(&self) -> Option<usize> {
        self.place_of("retval")
    }
    /// Offset of a field with a name from the start of the message, in bytes; `None` without one.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        let mut at = 2;
        for field in self.all_fields() {
            if field.name == name {
                return Some(at);
            }
            at += least_size(field);
        }
        None
    }
}

/// Least bytes of a field.
pub fn least_size(field: &FieldInfo) -> usize {
    match field.count {
        Count::One => least_type_size(&field.ty),
        Count::Fixed(count) => count * least_type_size(&field.ty),
        Count::Counted(_) => 0,
        Count::Text => 4,
    }
}

fn least_type_size(ty: &Type) -> usize {
    use super::schema::Body;
    match ty {
        Type::U8 | Type::I8 | Type::Bool | Type::String => 1,
        Type::U16 | Type::I16 => u16::SIZE,
        Type::U32 | Type::I32 => u32::SIZE,
        Type::U64 | Type::I64 | Type::F64 => u64::SIZE,
        Type::Named(declaration) => match declaration.body {
            Body::Alias(ty, count) => {
                least_size(&FieldInfo { count, ..FieldInfo::one("", ty, "") })
            }
            Body::Numbers { base, .. } => least_type_size(&base),
            Body::Record(fields) => fields.iter().map(least_size).sum(),
            Body::Union(fields) => fields.iter().map(least_size).max().unwrap_or(0),
        },
    }
}
