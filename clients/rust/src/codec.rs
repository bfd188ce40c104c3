//! Values as bytes: big endian, packed; `f64` in host order.

/// Bytes are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short;

/// A type of fields of messages.
pub trait Codec: Sized {
    /// Appends its bytes.
    fn encode(&self, out: &mut Vec<u8>);
    /// Takes its bytes.
    ///
    /// # Errors
    /// When there are not enough.
    fn decode(from: &mut &[u8]) -> Result<Self, Short>;
}

macro_rules! number {
    ($($rust:ident)*) => {$(
        impl Codec for $rust {
            fn encode(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }

            fn decode(from: &mut &[u8]) -> Result<Self, Short> {
                take(from).map(Self::from_be_bytes)
            }
        }
    )*};
}

number!(u8 i8 u16 i16 u32 i32 u64 i64);

impl Codec for f64 {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_ne_bytes());
    }

    fn decode(from: &mut &[u8]) -> Result<Self, Short> {
        take(from).map(Self::from_ne_bytes)
    }
}

impl Codec for bool {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn decode(from: &mut &[u8]) -> Result<Self, Short> {
        u8::decode(from).map(|byte| byte != 0)
    }
}

/// A string behind its length.
impl Codec for String {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.len() as u32).encode(out);
        out.extend_from_slice(self.as_bytes());
    }

    fn decode(from: &mut &[u8]) -> Result<Self, Short> {
        let len = u32::decode(from)? as usize;
        let (bytes, rest) = from.split_at_checked(len).ok_or(Short)?;
        *from = rest;
        Ok(Self::from_utf8_lossy(bytes).into_owned())
    }
}

impl<T: Codec + Default, const N: usize> Codec for [T; N] {
    fn encode(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }

    fn decode(from: &mut &[u8]) -> Result<Self, Short> {
        let mut all = Ok(());
        let elements = std::array::from_fn(|_| {
            T::decode(from).unwrap_or_else(|short| {
                all = Err(short);
                T::default()
            })
        });
        all.map(|()| elements)
    }
}

fn take<const N: usize>(from: &mut &[u8]) -> Result<[u8; N], Short> {
    let (taken, rest) = from.split_first_chunk().ok_or(Short)?;
    *from = rest;
    Ok(*taken)
}

/// Appends all elements.
pub fn put_all<T: Codec>(elements: &[T], out: &mut Vec<u8>) {
    elements.iter().for_each(|element| element.encode(out));
}

/// Takes so many elements.
pub fn take_all<T: Codec>(count: usize, from: &mut &[u8]) -> Result<Vec<T>, Short> {
    (0..count).map(|_| T::decode(from)).collect()
}

/// Appends a string in `size` bytes, cut and padded with NULs.
pub fn put_text(text: &str, size: usize, out: &mut Vec<u8>) {
    let end = out.len() + size;
    out.extend(text.bytes().take(size - 1));
    out.resize(end, 0);
}

/// Takes a string in `size` bytes.
pub fn take_text(size: usize, from: &mut &[u8]) -> Result<String, Short> {
    let (bytes, rest) = from.split_at_checked(size).ok_or(Short)?;
    *from = rest;
    let len = bytes.iter().position(|byte| *byte == 0).unwrap_or(size);
    Ok(String::from_utf8_lossy(&bytes[..len]).into_owned())
}

/// The value's bytes, with zeros behind them.
pub fn padded<const N: usize>(value: &impl Codec) -> [u8; N] {
    let mut bytes = Vec::with_capacity(N);
    value.encode(&mut bytes);
    bytes.resize(N, 0);
    bytes.try_into().expect("just given this length")
}
