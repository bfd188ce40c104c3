//! Enumerations and flags: numbers with names. A number without a name is a value like others.

/// Declares enumerations and flags as newtypes around their number with a constant for each name.
///
/// ```
/// control::numbers! {
///     /// Which of the MTUs.
///     pub enum MtuProto: u32 = "mtu_proto" in "vnet/interface_types.api" {
///         L3 = 0 => "MTU_PROTO_API_L3",
///         IP4 = 1 => "MTU_PROTO_API_IP4",
///     }
///     /// Properties of a tunnel.
///     pub flags TunnelFlags: u8 = "tunnel_flags" in "vnet/tunnel/tunnel_types.api" {
///         TRACK_MTU = 1 => "TUNNEL_API_FLAG_TRACK_MTU",
///     }
/// }
/// assert_eq!(MtuProto(1), MtuProto::IP4);
/// ```
///
/// `in ""` means the file of the module that uses it. `flags` is for what the original declares so;
/// many of its sets of bits are enumerations there. `=> "NAME" later` is for a name that came
/// after the CRC was fixed and does not count for it.
#[macro_export]
macro_rules! numbers {
    ($(
        #[doc = $about:literal] $(#[$meta:meta])*
        $vis:vis $kind:ident $rust:ident: $base:ident = $name:literal in $file:literal {
            $($value:ident = $number:literal => $outside:literal $($later:ident)?,)*
        }
    )*) => {$(
        #[doc = $about] $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        $vis struct $rust(
            /// The number, which may be any.
            pub $base,
        );

        #[allow(dead_code, reason = "the list is the original's")]
        impl $rust {
            $(
                #[doc = concat!("`", $outside, "`")]
                pub const $value: Self = Self($number);
            )*

            /// Whether all bits of `flags` are set.
            pub fn contains(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// `self` with the bits of `flags` when `is_set`.
            pub fn with(self, flags: Self, is_set: bool) -> Self {
                if is_set { Self(self.0 | flags.0) } else { self }
            }
        }

        impl $crate::api::Field for $rust {
            const TYPE: $crate::api::schema::Type =
                $crate::api::schema::Type::Named(&$crate::api::schema::Declaration {
                    name: $name,
                    file: $file,
                    about: $about,
                    body: $crate::api::schema::Body::Numbers {
                        base: <$base as $crate::api::Field>::TYPE,
                        is_flags: $crate::numbers!(@is_flags $kind),
                        values: &[$($crate::api::schema::NamedNumber {
                            name: $outside,
                            value: $number,
                            is_backwards_compatible: $crate::numbers!(@later $($later)?),
                        }),*],
                    },
                });
            const SIZE: usize = size_of::<$base>();

            fn encode(&self, out: &mut Vec<u8>) {
                $crate::api::Field::encode(&self.0, out);
            }

            fn decode(
                from: &mut $crate::api::Reader<'_>,
            ) -> Result<Self, $crate::api::Short> {
                $crate::api::Field::decode(from).map(Self)
            }
        }
    )*};
    (@is_flags enum) => { false };
    (@is_flags flags) => { true };
    (@later) => { false };
    (@later later) => { true };
}
