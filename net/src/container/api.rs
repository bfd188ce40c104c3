//! Messages about prefixes of containers, of the module `ip`.

use control::api::types::Prefix;
use control::api::{Api, Message, Retval};

use super::Error;
use crate::fib::api::IP_VERSION;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Take packets to a container's prefix for this router's own, or no longer.
#[derive(Message)]
struct IpContainerProxyAddDel {
    pfx: Prefix,
    sw_if_index: InterfaceIndex,
    #[preset(true)]
    is_add: bool,
}

/// Ask which prefixes of containers there are.
#[derive(Message)]
#[details(IpContainerProxyDetails)]
struct IpContainerProxyDump {}

/// A prefix of a container.
#[derive(Message)]
struct IpContainerProxyDetails {
    sw_if_index: InterfaceIndex,
    prefix: Prefix,
}

impl From<Error> for Retval {
    fn from(e: Error) -> Self {
        match e {
            Error::NoInterface => Self::INVALID_SW_IF_INDEX,
            Error::Unknown(_) => Self::NO_SUCH_ENTRY,
            Error::Route(_) => Self::UNSPECIFIED,
        }
    }
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", IP_VERSION)
        .call(|router: &mut Router, m: IpContainerProxyAddDel| {
            let prefix = m.pfx.native()?;
            Ok(router.set_container_proxy(m.sw_if_index, prefix, m.is_add)?)
        })
        .dump(|router: &mut Router, _: IpContainerProxyDump| {
            let row = |(sw_if_index, prefix): (InterfaceIndex, wire::Prefix)| {
                IpContainerProxyDetails { sw_if_index, prefix: prefix.into() }
            };
            router.container_proxies().map(row).collect()
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighbor::testing::Bench;

    #[test]
    fn prefixes_come_back_as_they_were_set() {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        b.talk(|local, router| {
            let set = |prefix: &str, sw_if_index, is_add| IpContainerProxyAddDel {
                pfx: prefix.parse::<wire::Prefix>().unwrap().into(),
                sw_if_index,
                is_add,
            };
            for prefix in ["10.7.0.0/24", "2001:db8:7::9/128"] {
                local.call(router, &set(prefix, pg0, true)).unwrap();
                let told = local.dump(router, &IpContainerProxyDump {});
                let told: Vec<_> = told.iter().map(|d| d.prefix.native().unwrap()).collect();
                assert_eq!(told, [prefix.parse().unwrap()]);
                local.call(router, &set(prefix, pg0, false)).unwrap();
                let again = local.call(router, &set(prefix, pg0, false)).err();
                assert_eq!(again, Some(Retval::NO_SUCH_ENTRY));
            }
            let nowhere = set("10.7.0.0/24", InterfaceIndex(99), true);
            assert_eq!(local.call(router, &nowhere).err(), Some(Retval::INVALID_SW_IF_INDEX));
        });
    }
}
