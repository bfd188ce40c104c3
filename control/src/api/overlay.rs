//! Unions: fields that begin at the same byte. Which of them holds is said by a sibling field, so
//! a union is kept as its bytes and read as one of its arms.

use std::marker::PhantomData;

use super::field::{Field, Reader, Short};
use super::schema::{Count, Declaration, Type};

/// The arms of a union; derive it on an enum with a variant for each (`#[derive(Union)]`).
pub trait Union: Sized {
    /// Its declaration.
    const DECLARATION: &'static Declaration;
    /// Bytes of the largest arm.
    const SIZE: usize;

    /// Appends the bytes of the arm, without padding.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A union in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay<U> {
    bytes: Vec<u8>,
    arms: PhantomData<U>,
}

impl<U: Union> Overlay<U> {
    /// The bytes as an arm of type `T`. `T` is to be one of the arms: of a larger type the rest
    /// is zero.
    pub fn read<T: Field>(&self) -> Result<T, Short> {
        let mut bytes = self.bytes.clone();
        bytes.resize(bytes.len().max(T::SIZE), 0);
        T::decode(&mut Reader::new(&bytes))
    }
}

impl<U: Union> From<U> for Overlay<U> {
    fn from(arm: U) -> Self {
        let mut bytes = Vec::with_capacity(U::SIZE);
        arm.encode(&mut bytes);
        bytes.resize(U::SIZE, 0);
        Self { bytes, arms: PhantomData }
    }
}

/// All bytes zero.
impl<U: Union> Default for Overlay<U> {
    fn default() -> Self {
        Self { bytes: vec![0; U::SIZE], arms: PhantomData }
    }
}

impl<U: Union> Field for Overlay<U> {
    const TYPE: Type = Type::Named(U::DECLARATION);
    const COUNT: Count = Count::One;
    const SIZE: usize = U::SIZE;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.bytes);
    }

    fn decode(from: &mut Reader<'_>) -> Result<Self, Short> {
        Ok(Self { bytes: from.take(U::SIZE)?.to_vec(), arms: PhantomData })
    }
}
