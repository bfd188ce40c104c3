//! Bytes with assigned meanings.

/// A newtype around a byte with constants for the numbers that are assigned, which print as names.
/// Other numbers are values too and print as the text in braces says.
macro_rules! number {
    (
        $(#[$about:meta])*
        pub struct $name:ident, else $other:literal;
        $($(#[$meaning:meta])* $constant:ident = $value:literal, $text:literal;)*
    ) => {
        $(#[$about])*
        #[derive(
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            ::zerocopy::FromBytes,
            ::zerocopy::IntoBytes,
            ::zerocopy::KnownLayout,
            ::zerocopy::Immutable,
            ::zerocopy::Unaligned,
        )]
        #[repr(transparent)]
        pub struct $name(pub u8);

        impl $name {
            $($(#[$meaning])* pub const $constant: Self = Self($value);)*
        }

        /// The name operators know from packet traces, else the number.
        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(match *self {
                    $(Self::$constant => $text,)*
                    Self(number) => return f.pad(&format!($other, number)),
                })
            }
        }
    };
}
pub(crate) use number;
