//! Error numbers that clients know.

use std::fmt;

use crate::cli;

/// The reason why a request was refused: the negative number its reply carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Retval(pub i32);

macro_rules! retvals {
    ($($name:ident $number:literal $text:literal,)*) => {
        impl Retval {
            $(
                #[doc = concat!($text, ".")]
                pub const $name: Self = Self($number);
            )*

            /// Meaning of the number; empty when it has no name.
            pub fn text(self) -> &'static str {
                match self.0 {
                    $($number => $text,)*
                    _ => "",
                }
            }
        }
    };
}

retvals! {
    OK 0 "No error",
    UNSPECIFIED -1 "Unspecified Error",
    INVALID_SW_IF_INDEX -2 "Invalid sw_if_index",
    NO_SUCH_FIB -3 "No such FIB / VRF",
    NO_SUCH_INNER_FIB -4 "No such inner FIB / VRF",
    NO_SUCH_LABEL -5 "No such label",
    NO_SUCH_ENTRY -6 "No such entry",
    INVALID_VALUE -7 "Invalid value",
    INVALID_VALUE_2 -8 "Invalid value #2",
    UNIMPLEMENTED -9 "Unimplemented",
    INVALID_SW_IF_INDEX_2 -10 "Invalid sw_if_index #2",
    SYSCALL_ERROR_1 -11 "System call error #1",
    FEATURE_DISABLED -30 "Feature disabled by configuration",
    INVALID_REGISTRATION -31 "Invalid registration",
    NO_PATHS_IN_ROUTE -52 "No paths in route",
    INVALID_VLAN -55 "Invalid VLAN",
    VLAN_ALREADY_EXISTS -56 "VLAN subif already exists",
    INVALID_SRC_ADDRESS -57 "Invalid src address",
    INVALID_DST_ADDRESS -58 "Invalid dst address",
    ADDRESS_LENGTH_MISMATCH -59 "Address length mismatch",
    ADDRESS_NOT_FOUND_FOR_INTERFACE -60 "Address not found for interface",
    ADDRESS_NOT_DELETABLE -61 "Address not deletable",
    IP6_NOT_ENABLED -62 "ip6 not enabled",
    NO_SUCH_NODE -63 "No such node",
    NO_SUCH_NODE_2 -64 "No such node #2",
    NO_SUCH_TABLE -65 "No such table",
    NO_SUCH_TABLE_2 -66 "No such table #2",
    NO_SUCH_TABLE_3 -67 "No such table #3",
    SUBIF_ALREADY_EXISTS -68 "Subinterface already exists",
    INVALID_MEMORY_SIZE -70 "Invalid memory size",
    INVALID_INTERFACE -71 "Invalid interface",
    INVALID_ARGUMENT -73 "Invalid argument",
    TUNNEL_EXISTS -75 "Tunnel exists",
    IF_ALREADY_EXISTS -79 "Interface already exists",
    VALUE_EXIST -81 "Value already exists",
    SAME_SRC_DST -82 "Source and destination are the same",
    INVALID_WORKER -89 "Invalid worker thread",
    CLASSIFY_TABLE_NOT_FOUND -91 "Classify table not found",
    EXCEEDED_NUMBER_OF_RANGES_CAPACITY -95 "Operation would exceed configured capacity of ranges",
    EXCEEDED_NUMBER_OF_PORTS_CAPACITY -96 "Operation would exceed capacity of number of ports",
    INVALID_ADDRESS_FAMILY -97 "Invalid address family",
    TABLE_TOO_BIG -99 "Table too big",
    CANNOT_ENABLE_DISABLE_FEATURE -100 "Cannot enable/disable feature",
    BFD_EEXIST -101 "Duplicate BFD object",
    BFD_ENOENT -102 "No such BFD object",
    BFD_EINUSE -103 "BFD object in use",
    BFD_NOTSUPP -104 "BFD feature not supported",
    ADDRESS_IN_USE -105 "Address in use",
    ADDRESS_NOT_IN_USE -106 "Address not in use",
    ADDRESS_FOUND_FOR_INTERFACE -114 "Address found for interface",
    ENTRY_ALREADY_EXISTS -116 "Entry already exists",
    BD_ALREADY_EXISTS -119 "Bridge domain already exists",
    BD_IN_USE -120 "Bridge domain has member interfaces",
    BD_NOT_MODIFIABLE -121 "Bridge domain 0 can't be deleted/modified",
    BD_ID_EXCEED_MAX -122 "Bridge domain ID exceeds 16M limit",
    SUBIF_DOESNT_EXIST -123 "Subinterface doesn't exist",
    L2_MACS_EVENT_CLIENT_PRESENT -124 "Another l2 macs client already registered",
    UNSUPPORTED -126 "Unsupported",
    DUPLICATE_IF_ADDRESS -127 "Address already present on another interface",
    ACL_IN_USE_INBOUND -142 "Inbound ACL in use",
    ACL_IN_USE_OUTBOUND -143 "Outbound ACL in use",
    INSTANCE_IN_USE -147 "Instance in use",
    BD_ALREADY_HAS_BVI -152 "Bridge domain already has a BVI interface",
    IN_USE -155 "In use",
    NO_CHANGE -160 "No change",
    LIMIT_EXCEEDED -162 "Limit exceeded",
    UDP_PORT_TAKEN -164 "UDP port already taken",
    EAGAIN -165 "Retry stream call with cursor",
    FEATURE_ALREADY_DISABLED -169 "Feature already disabled",
    FEATURE_ALREADY_ENABLED -170 "Feature already enabled",
}

impl fmt::Display for Retval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text() {
            "" => write!(f, "error {}", self.0),
            text => f.write_str(text),
        }
    }
}

impl std::error::Error for Retval {}

/// A command's error with the number that API clients get for the same.
impl From<Retval> for cli::Error {
    fn from(retval: Retval) -> Self {
        Self::new(retval.to_string()).with_code(retval.0)
    }
}

impl From<cli::Error> for Retval {
    fn from(error: cli::Error) -> Self {
        Self(error.code())
    }
}

impl From<std::convert::Infallible> for Retval {
    fn from(never: std::convert::Infallible) -> Self {
        match never {}
    }
}
