//! Types of the fields of a message, and their bytes: big endian, packed; `f64` in host order.
//!
//! Reading never fails on a value, only on bytes that are missing: an unknown number of an
//! enumeration or an impossible address reaches the function that answers the message.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::schema::{Body, Count, Declaration, Type};

/// Bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short;

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("too short")
    }
}

impl std::error::Error for Short {}

/// A type that a field of a message may have.
pub trait Field: Sized {
    /// Type of one element.
    const TYPE: Type;
    /// Number of elements.
    const COUNT: Count = Count::One;
    /// Least bytes.
    const SIZE: usize;
    /// Whether it is hidden: a [`Secret`](crate::Secret).
    const IS_SECRET: bool = false;

    /// Appends its bytes.
    fn encode(&self, out: &mut Vec<u8>);

    /// Takes its bytes.
    fn decode(from: &mut Reader<'_>) -> Result<Self, Short>;
}

/// Rest of a message, still to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Starts at the first of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Bytes that are left.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when none are left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Short> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// Takes an array of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Short)?;
        self.0 = rest;
        Ok(*taken)
    }
}

macro_rules! number {
    ($($rust:ident $name:ident,)*) => {$(
        impl Field for $rust {
            const TYPE: Type = Type::$name;
            const SIZE: usize = size_of::<Self>();

            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
                from.array().map(Self::from_be_bytes)
            }
        }
    )*};
}

number!(u8 U8, i8 I8, u16 U16, i16 I16, u32 U32, i32 I32, u64 U64, i64 I64,);

impl Field for f64 {
    const TYPE: Type = Type::F64;
    const SIZE: usize = 8;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_ne_bytes());
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        from.array().map(Self::from_ne_bytes)
    }
}

/// Any byte but zero is true.
impl Field for bool {
    const TYPE: Type = Type::Bool;
    const SIZE: usize = 1;

    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        u8::decode(from).map(|byte| byte != 0)
    }
}

/// A string of any length. Bytes that are not UTF-8 become U+FFFD.
impl Field for String {
    const TYPE: Type = Type::String;
    const COUNT: Count = Count::Text;
    const SIZE: usize = 4;

    fn encode(&self, out: &mut Vec<u8>) {
        let len = u32::try_from(self.len()).unwrap_or(u32::MAX);
        len.encode(out);
        out.extend_from_slice(&self.as_bytes()[..len as usize]);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        let len = u32::decode(from)?;
        let bytes = from.take(len as usize)?;
        // Some clients count a NUL at the end.
        let bytes = bytes.strip_suffix(&[0]).unwrap_or(bytes);
        Ok(Self::from_utf8_lossy(bytes).into_owned())
    }
}

impl<T: Field + Copy, const N: usize> Field for [T; N] {
    const TYPE: Type = T::TYPE;
    const COUNT: Count = Count::Fixed(N);
    const SIZE: usize = N * T::SIZE;

    fn encode(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|element| element.encode(out));
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        let mut elements = [None; N];
        for element in &mut elements {
            *element = Some(T::decode(from)?);
        }
        Ok(elements.map(|element| element.expect("all of them were decoded")))
    }
}

/// A string in `N` bytes, padded with NULs, at most `N - 1` long. Sent as ASCII: other characters
/// become `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Text<const N: usize>(String);

impl<const N: usize> Text<N> {
    /// The string.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> std::ops::Deref for Text<N> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> std::fmt::Display for Text<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text that is cut to its field when it is sent.
impl<const N: usize, T: Into<String>> From<T> for Text<N> {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

impl<const N: usize> Field for Text<N> {
    const TYPE: Type = Type::String;
    const COUNT: Count = Count::Fixed(N);
    const SIZE: usize = N;

    fn encode(&self, out: &mut Vec<u8>) {
        let ascii = self.0.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' });
        let end = out.len() + N;
        out.extend(ascii.take_while(|byte| *byte != 0).take(N.saturating_sub(1)));
        out.resize(end, 0);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        let bytes = from.take(N)?;
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(N);
        Ok(Self(String::from_utf8_lossy(&bytes[..end]).into_owned()))
    }
}

/// A type of ours that is another name of a type on the wire. All values of the wire type must be
/// ones of this.
pub trait Alias: Sized {
    /// The bytes on the wire.
    type Wire: Field;
    /// Name without `vl_api_` and `_t`.
    const NAME: &'static str;
    /// File it is declared in, as in [`Declaration::file`].
    const FILE: &'static str;

    /// The value to send.
    fn to_wire(&self) -> Self::Wire;

    /// The received value.
    fn of_wire(value: Self::Wire) -> Self;
}

impl<A: Alias> Field for A {
    const TYPE: Type = Type::Named(&Declaration {
        name: A::NAME,
        file: A::FILE,
        about: "",
        body: Body::Alias(A::Wire::TYPE, A::Wire::COUNT),
    });
    const SIZE: usize = A::Wire::SIZE;

    fn encode(&self, out: &mut Vec<u8>) {
        self.to_wire().encode(out);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        A::Wire::decode(from).map(Self::of_wire)
    }
}

/// The type of a field that counts others.
pub trait Counter: Field + Copy {
    /// The number for so many elements; at most the highest it has.
    fn of(count: usize) -> Self;

    /// The number of elements.
    fn count(self) -> usize;
}

macro_rules! counter {
    ($($rust:ident)*) => {$(
        impl Counter for $rust {
            fn of(count: usize) -> Self {
                Self::try_from(count).unwrap_or(Self::MAX)
            }

            fn count(self) -> usize {
                usize::try_from(self).unwrap_or(usize::MAX)
            }
        }
    )*};
}

counter!(u8 u16 u32 u64);

/// Appends as many elements as a `C` can count.
pub fn encode_all<C: Counter, T: Field>(elements: &[T], out: &mut Vec<u8>) {
    let count = C::of(elements.len()).count();
    elements.iter().take(count).for_each(|element| element.encode(out));
}

/// Takes `count` elements. More than the rest of the message can hold are refused before memory is
/// taken for them.
pub fn decode_all<T: Field>(from: &mut Reader<'_>, count: usize) -> Result<Vec<T>, Short> {
    if count.checked_mul(T::SIZE.max(1)).is_none_or(|bytes| bytes > from.len()) {
        return Err(Short);
    }
    (0..count).map(|_| T::decode(from)).collect()
}

impl Alias for Ipv4Addr {
    type Wire = [u8; 4];
    const NAME: &'static str = "ip4_address";
    const FILE: &'static str = super::types::IP_TYPES;

    fn to_wire(&self) -> [u8; 4] {
        self.octets()
    }

    fn of_wire(octets: [u8; 4]) -> Self {
        octets.into()
    }
}

impl Alias for Ipv6Addr {
    type Wire = [u8; 16];
    const NAME: &'static str = "ip6_address";
    const FILE: &'static str = super::types::IP_TYPES;

    fn to_wire(&self) -> [u8; 16] {
        self.octets()
    }

    fn of_wire(octets: [u8; 16]) -> Self {
        octets.into()
    }
}

impl Alias for wire::MacAddr {
    type Wire = [u8; 6];
    const NAME: &'static str = "mac_address";
    const FILE: &'static str = "vnet/ethernet/ethernet_types.api";

    fn to_wire(&self) -> [u8; 6] {
        self.0
    }

    fn of_wire(octets: [u8; 6]) -> Self {
        Self(octets)
    }
}
