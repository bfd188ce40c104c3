//! Reasons for refusing requests. API messages of the module `session` have error numbers of their
//! own.

use control::feature::Refusal;
use wire::Prefix;

use super::apps::MOST_APPS;
use super::profiles::MOST_PROFILES;
use super::{MOST_CERTIFICATES, MOST_NAMESPACES, MOST_RULES, MOST_SDL, MOST_SOURCES};

/// Reasons for refusing a request.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// the session layer is disabled, use `session enable'
    #[retval(FEATURE_DISABLED)]
    Disabled,
    /// session rules need rt-backend rule-table, use `session disable', then `session enable'
    #[retval(FEATURE_DISABLED)]
    NoRuleTable,
    /// deny rules need rt-backend sdl, use `session disable', then `session enable rt-backend sdl'
    #[retval(FEATURE_DISABLED)]
    NoSdl,
    /// rt-backend is {0}, use `session disable' first
    #[retval(-19)]
    OtherBackend(&'static str),
    /// no such namespace `{0}'
    #[retval(-22)]
    NoNamespace(String),
    /// no namespace with index {0}
    #[retval(-1)]
    NoNamespaceIndex(u32),
    /// a namespace needs an ID of 1 to 63 letters, digits and punctuation marks
    #[retval(-19)]
    BadId,
    /// namespace `default' cannot be changed
    #[retval(-19)]
    IsDefault,
    /// at most {MOST_NAMESPACES} namespaces
    #[retval(-4)]
    TooManyNamespaces,
    /// no such interface
    #[retval(-19)]
    NoInterface,
    /// no {0} table {1}
    #[retval(-19)]
    NoTable(&'static str, u32),
    /// a namespace needs an IPv4 or IPv6 table
    #[retval(-19)]
    NoTables,
    /// wrong secret for namespace `{0}'
    #[retval(-38)]
    WrongSecret(String),
    /// a socket name needs 1 to 107 letters, digits and punctuation marks
    #[retval(-19)]
    BadSocketName,
    /// local and remote prefix must have the same IP version
    #[retval(-19)]
    MixedVersions,
    /// namespace `{0}' has no {1} table
    #[retval(-19)]
    NoTableOf(String, &'static str),
    /// rules must be for tcp or udp
    #[retval(-10)]
    BadTransport,
    /// a tag has up to 63 letters, digits and punctuation marks
    #[retval(-19)]
    BadTag,
    /// a table has at most {MOST_RULES} rules
    #[retval(-4)]
    TooManyRules,
    /// no such rule
    #[retval(-19)]
    NoRule,
    /// no deny rule for {0}
    #[retval(-19)]
    NoSdlRule(Prefix),
    /// a table has at most {MOST_SDL} deny rules
    #[retval(-4)]
    TooManySdl,
    /// app sockets cannot be disabled while namespaces have sockets of their own
    #[retval(-1)]
    NamespacesExist,
    /// applications must attach with the client library of this router
    #[retval(-10)]
    ForeignClient,
    /// {0}
    #[retval(-10)]
    AppSocket(String),
    /// the client has attached no application
    #[retval(-13)]
    NoApplication,
    /// no such application `{0}'
    #[retval(-13)]
    UnknownApp(String),
    /// application `{0}' is attached
    #[retval(-14)]
    AppExists(String),
    /// the name of an application must have 1 to 63 letters and not be a number
    #[retval(-19)]
    BadAppName,
    /// at most {MOST_APPS} applications
    #[retval(-4)]
    TooManyApps,
    /// {0}
    #[retval(-19)]
    BadCertificate(&'static str),
    /// at most {MOST_CERTIFICATES} certificates
    #[retval(-4)]
    TooManyCertificates,
    /// no certificate {0}
    #[retval(-36)]
    NoCertificate(u32),
    /// an application has at most {MOST_PROFILES} TLS profiles
    #[retval(-4)]
    TooManyProfiles,
    /// the application has no TLS profile {0}
    #[retval(-19)]
    NoProfile(u32),
    /// the first address is after the last
    #[retval(INVALID_VALUE)]
    BackwardRange,
    /// both addresses must have the same IP version
    #[retval(INVALID_ADDRESS_FAMILY)]
    MixedRange,
    /// a table has at most {MOST_SOURCES} source addresses
    #[retval(LIMIT_EXCEEDED)]
    TooManySources,
    /// these source addresses are already configured
    #[retval(VALUE_EXIST)]
    SourceExists,
    /// no such source addresses
    #[retval(NO_SUCH_ENTRY)]
    NoSource,
    /// no IP table {0}
    #[retval(NO_SUCH_FIB)]
    NoVrf(u32),
    /// error in the data plane: {0}
    #[retval(-1)]
    Data(String),
}
