//! Declarations as data: what a message or type is called and made of.
//!
//! The derives make them as constants; CRCs, `*.api.json` files and the JSON form of messages are
//! computed from them.

/// The type of one element of a field.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// `u8`.
    U8,
    /// `i8`.
    I8,
    /// `u16`.
    U16,
    /// `i16`.
    I16,
    /// `u32`.
    U32,
    /// `i32`.
    I32,
    /// `u64`.
    U64,
    /// `i64`.
    I64,
    /// `f64`, in host order.
    F64,
    /// `bool`.
    Bool,
    /// `string`.
    String,
    /// A type of its own, `vl_api_…_t`.
    Named(&'static Declaration),
}

/// Number of elements of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// One.
    One,
    /// This many; for a string its bytes including the NUL.
    Fixed(usize),
    /// As many as this earlier field says.
    Counted(&'static str),
    /// A string that begins with its own length.
    Text,
}

/// A value in the options of a field or message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Preset {
    /// No value.
    None,
    /// Text.
    Word(&'static str),
    /// A number.
    Number(i64),
    /// A number with a fraction.
    Real(f64),
}

/// Options such as `default`, in the order they are declared.
pub type Options = &'static [(&'static str, Preset)];

/// One field as the declaration has it.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Its name on the outside.
    pub name: &'static str,
    /// Type of one element.
    pub ty: Type,
    /// Number of elements.
    pub count: Count,
    /// `default`, `discriminator`, `case`.
    pub options: Options,
    /// Its meaning.
    pub about: &'static str,
    /// Whether its value is hidden.
    pub is_secret: bool,
}

impl FieldInfo {
    /// A field of one element without options.
    pub const fn one(name: &'static str, ty: Type, about: &'static str) -> Self {
        Self { name, ty, count: Count::One, options: &[], about, is_secret: false }
    }
}

/// Number of fields in some slices.
pub const fn count(parts: &[&[FieldInfo]]) -> usize {
    let (mut count, mut part) = (0, 0);
    while part < parts.len() {
        count += parts[part].len();
        part += 1;
    }
    count
}

/// The fields of some slices, one after the other; `N` is their [`count`].
pub const fn joined<const N: usize>(parts: &[&[FieldInfo]]) -> [FieldInfo; N] {
    let mut all = [FieldInfo::one("", Type::U8, ""); N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut field = 0;
        while field < parts[part].len() {
            all[at] = parts[part][field];
            (at, field) = (at + 1, field + 1);
        }
        part += 1;
    }
    all
}

/// A type with a name.
#[derive(Clone, Copy, Debug)]
pub struct Declaration {
    /// Without `vl_api_` and `_t`.
    pub name: &'static str,
    /// The file it is declared in, such as `vnet/ip/ip_types.api`; empty for that of the module
    /// that uses it.
    pub file: &'static str,
    /// Description, for people.
    pub about: &'static str,
    /// Its parts.
    pub body: Body,
}

/// Definition of a named type.
#[derive(Clone, Copy, Debug)]
pub enum Body {
    /// Another name of a type or of an array.
    Alias(Type, Count),
    /// Numbers with names.
    Numbers {
        /// `u8` or `u32`.
        base: Type,
        /// Whether the numbers are bits.
        is_flags: bool,
        /// Names and values in order.
        values: &'static [NamedNumber],
    },
    /// Fields one after the other.
    Record(&'static [FieldInfo]),
    /// Fields that begin at the same byte.
    Union(&'static [FieldInfo]),
}

/// A name for a number.
#[derive(Clone, Copy, Debug)]
pub struct NamedNumber {
    /// Its name on the outside.
    pub name: &'static str,
    /// The number.
    pub value: u32,
    /// Whether it came later and does not count for the CRC.
    pub is_backwards_compatible: bool,
}

/// Head of a message, in front of its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// `client_index`, `context`: a request.
    Request,
    /// `context`, `retval`: a reply.
    Reply,
    /// `context`: details, and replies that have no `retval` or have it elsewhere.
    Details,
    /// `client_index`, `pid`: an event.
    Event,
    /// `client_index` alone: an event.
    Index,
    /// Nothing.
    Bare,
}

const CLIENT_INDEX: FieldInfo =
    FieldInfo::one("client_index", Type::U32, "the number the client was given");
const CONTEXT: FieldInfo =
    FieldInfo::one("context", Type::U32, "chosen by the client, in all answers");
const RETVAL: FieldInfo = FieldInfo::one("retval", Type::I32, "0, or a negative error number");
const PID: FieldInfo = FieldInfo::one("pid", Type::U32, "what the client gave when it registered");

impl Head {
    /// Its fields.
    pub const fn fields(self) -> &'static [FieldInfo] {
        match self {
            Self::Request => &[CLIENT_INDEX, CONTEXT],
            Self::Reply => &[CONTEXT, RETVAL],
            Self::Details => &[CONTEXT],
            Self::Event => &[CLIENT_INDEX, PID],
            Self::Index => &[CLIENT_INDEX],
            Self::Bare => &[],
        }
    }

    /// Bytes.
    pub const fn size(self) -> usize {
        4 * self.fields().len()
    }
}

/// A message.
#[derive(Clone, Copy, Debug)]
pub struct MessageInfo {
    /// Its name on the outside.
    pub name: &'static str,
    /// Description, for people.
    pub about: &'static str,
    /// The head, before its own fields.
    pub head: Head,
    /// Its own fields.
    pub fields: &'static [FieldInfo],
    /// `deprecated` and the like.
    pub options: Options,
    /// Least bytes of its own fields.
    pub size: usize,
}

impl MessageInfo {
    /// All fields but the number of the message.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static FieldInfo> + use<> {
        self.head.fields().iter().chain(self.fields)
    }

    /// Least bytes of the whole message.
    pub const fn full_size(&self) -> usize {
        2 + self.head.size() + self.size
    }
}
