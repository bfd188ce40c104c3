//! API messages for namespaces: all versions are converted to the same request.

use control::Secret;
use control::api::{Api, Message, Retval, Text};
use net::{InterfaceIndex, Router};

use super::super::namespaces::{self, Binding, NewNamespace};

/// No table of an IP version.
const NONE: u32 = u32::MAX;

/// Add a namespace.
#[derive(Message)]
#[reply(AppNamespaceAddDelReply)]
#[option("deprecated")]
pub struct AppNamespaceAddDel {
    /// secret that applications need; 0 for none
    pub secret: Secret<u64>,
    /// interface; 4294967295 for tables
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table ID; 4294967295 for none
    pub ip4_fib_id: u32,
    /// IPv6 table ID; 4294967295 for none
    pub ip6_fib_id: u32,
    /// ID
    pub namespace_id: String,
}

/// Reply: the index of the namespace.
#[derive(Message)]
#[option("deprecated")]
pub struct AppNamespaceAddDelReply {
    /// namespace index
    pub appns_index: u32,
}

/// Add a namespace.
#[derive(Message)]
#[reply(AppNamespaceAddDelV2Reply)]
#[option("deprecated")]
pub struct AppNamespaceAddDelV2 {
    /// secret that applications need; 0 for none
    pub secret: Secret<u64>,
    /// interface; 4294967295 for tables
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table ID; 4294967295 for none
    pub ip4_fib_id: u32,
    /// IPv6 table ID; 4294967295 for none
    pub ip6_fib_id: u32,
    /// ID
    pub namespace_id: Text<64>,
    /// ignored
    pub netns: Text<64>,
}

/// Reply: the index of the namespace.
#[derive(Message)]
#[option("deprecated")]
pub struct AppNamespaceAddDelV2Reply {
    /// namespace index
    pub appns_index: u32,
}

/// Add or delete a namespace.
#[derive(Message)]
#[reply(AppNamespaceAddDelV3Reply)]
#[option("deprecated")]
pub struct AppNamespaceAddDelV3 {
    /// secret that applications need; 0 for none
    pub secret: Secret<u64>,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// interface; 4294967295 for tables
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table ID; 4294967295 for none
    pub ip4_fib_id: u32,
    /// IPv6 table ID; 4294967295 for none
    pub ip6_fib_id: u32,
    /// ID
    pub namespace_id: Text<64>,
    /// ignored
    pub netns: Text<64>,
    /// socket name; empty for the default one
    pub sock_name: String,
}

/// Reply: the index of the namespace.
#[derive(Message)]
#[option("deprecated")]
pub struct AppNamespaceAddDelV3Reply {
    /// namespace index
    pub appns_index: u32,
}

/// Add, move or delete a namespace.
#[derive(Message)]
#[reply(AppNamespaceAddDelV4Reply)]
#[option("deprecated")]
pub struct AppNamespaceAddDelV4 {
    /// secret that applications need; 0 for none
    pub secret: Secret<u64>,
    /// true to add, false to delete
    #[preset(true)]
    pub is_add: bool,
    /// interface; 4294967295 for tables
    #[preset(4294967295)]
    pub sw_if_index: InterfaceIndex,
    /// IPv4 table ID; 4294967295 for none
    pub ip4_fib_id: u32,
    /// IPv6 table ID; 4294967295 for none
    pub ip6_fib_id: u32,
    /// ID
    pub namespace_id: Text<64>,
    /// socket name; empty for the default one
    pub sock_name: String,
}

/// Reply: the index of the namespace.
#[derive(Message)]
pub struct AppNamespaceAddDelV4Reply {
    /// namespace index
    pub appns_index: u32,
}

/// Fields common to all versions.
struct Common<'a> {
    secret: Secret<u64>,
    interface: InterfaceIndex,
    fib_ids: [u32; 2],
    id: &'a str,
    socket: &'a str,
}

fn change(router: &mut Router, is_add: bool, of: Common<'_>) -> Result<u32, Retval> {
    if !is_add {
        return Ok(namespaces::remove(router, of.id)?);
    }
    let binding = match of.interface {
        InterfaceIndex(u32::MAX) => {
            Binding::Tables(of.fib_ids.map(|id| (id != NONE).then_some(id)))
        }
        interface => Binding::Interface(interface),
    };
    let (id, socket) = (of.id.to_owned(), of.socket.to_owned());
    Ok(namespaces::add(router, NewNamespace { id, secret: of.secret, binding, socket })?)
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("session", super::VERSION)
        .call(|router: &mut Router, m: AppNamespaceAddDel| {
            let fib_ids = [m.ip4_fib_id, m.ip6_fib_id];
            let (id, secret, interface) = (m.namespace_id.as_str(), m.secret, m.sw_if_index);
            let of = Common { secret, interface, fib_ids, id, socket: "" };
            Ok(AppNamespaceAddDelReply { appns_index: change(router, true, of)? })
        })
        .call(|router: &mut Router, m: AppNamespaceAddDelV2| {
            let fib_ids = [m.ip4_fib_id, m.ip6_fib_id];
            let (id, secret, interface) = (m.namespace_id.as_str(), m.secret, m.sw_if_index);
            let of = Common { secret, interface, fib_ids, id, socket: "" };
            Ok(AppNamespaceAddDelV2Reply { appns_index: change(router, true, of)? })
        })
        .call(|router: &mut Router, m: AppNamespaceAddDelV3| {
            let fib_ids = [m.ip4_fib_id, m.ip6_fib_id];
            let (id, secret, interface) = (m.namespace_id.as_str(), m.secret, m.sw_if_index);
            let of = Common { secret, interface, fib_ids, id, socket: &m.sock_name };
            Ok(AppNamespaceAddDelV3Reply { appns_index: change(router, m.is_add, of)? })
        })
        .call(|router: &mut Router, m: AppNamespaceAddDelV4| {
            let fib_ids = [m.ip4_fib_id, m.ip6_fib_id];
            let (id, secret, interface) = (m.namespace_id.as_str(), m.secret, m.sw_if_index);
            let of = Common { secret, interface, fib_ids, id, socket: &m.sock_name };
            Ok(AppNamespaceAddDelV4Reply { appns_index: change(router, m.is_add, of)? })
        });
}
