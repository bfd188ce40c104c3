//! The control side as operators and clients see it.

mod layer;
mod lookups;
mod rows;

use control::Secret;
use control::api::Local;
use net::testing::whole::Bench;
use net::{InterfaceIndex, Router};

use super::*;
use crate::FEATURE;

fn bench() -> Bench {
    let mut b = Bench::plugged(&[FEATURE]);
    b.set("session enable");
    b
}

/// A namespace of an interface, as clients add it.
fn of_interface(id: &str, interface: InterfaceIndex) -> AppNamespaceAddDelV4 {
    AppNamespaceAddDelV4 {
        secret: Secret(0),
        is_add: true,
        sw_if_index: interface,
        ip4_fib_id: 0,
        ip6_fib_id: 0,
        namespace_id: id.into(),
        sock_name: String::new(),
    }
}

/// A namespace of tables, as clients add it.
fn of_tables(id: &str, [ip4_fib_id, ip6_fib_id]: [u32; 2]) -> AppNamespaceAddDelV4 {
    let sw_if_index = InterfaceIndex(u32::MAX);
    AppNamespaceAddDelV4 { ip4_fib_id, ip6_fib_id, ..of_interface(id, sw_if_index) }
}

fn engine(
    local: &Local<'_, Router>,
    router: &mut Router,
    rt_engine_type: RtBackendEngine,
) -> Option<i32> {
    let set = SessionEnableDisableV2 { rt_engine_type };
    local.call(router, &set).err().map(|retval| retval.0)
}

fn prefix(text: &str) -> control::api::types::Prefix {
    text.parse::<wire::Prefix>().unwrap().into()
}
