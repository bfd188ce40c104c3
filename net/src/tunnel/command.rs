//! Words that commands about tunnels over UDP share.

use std::net::IpAddr;

use control::cli::{Args, Error, Output};
use graph::Slot;

use super::{Kind, Outer};
use crate::adjacency::Link;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Both ends of a tunnel, and what is done with what comes from the far one.
#[derive(Default)]
pub struct Far {
    src: Option<IpAddr>,
    dst: Option<IpAddr>,
    group_over: Option<InterfaceIndex>,
    vrf: u32,
    /// Name of a node.
    next: Option<String>,
    /// What is carried, where a command may say it.
    pub carried: Option<Link>,
    /// The tunnel is deleted.
    pub is_del: bool,
}

impl Far {
    /// Takes the next words if they are of these: addresses by the words given, `group`,
    /// `encap-vrf-id`, `decap-next` and `del`.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn take(&mut self, args: &mut Args<'_>, [own, far]: [&str; 2]) -> Result<bool, Error> {
        if args.keyword(own) {
            self.src = Some(args.value("address")?);
        } else if args.keyword(far) {
            self.dst = Some(args.value("address")?);
        } else if args.keyword("group") {
            self.dst = Some(args.value("group")?);
            self.group_over = Some(args.value("interface")?);
        } else if args.keyword("encap-vrf-id") {
            self.vrf = args.value("table id")?;
        } else if args.keyword("decap-next") {
            self.take_next(args)?;
        } else if args.keyword("del") {
            self.is_del = true;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
    fn take_next(&mut self, args: &mut Args<'_>) -> Result<(), Error> {
        if args.keyword("node") {
            self.next = Some(args.value("node")?);
            return Ok(());
        }
        let words = [("l2", Link::Ethernet), ("ip4", Link::Ip4), ("ip6", Link::Ip6)];
        let found = words.into_iter().find(|(word, _)| args.keyword(word));
        self.carried = Some(found.ok_or_else(|| args.unknown())?.1);
        Ok(())
    }
    /// The outer header, and the edge of the input node that received packets take.
    ///
    /// # Errors
    /// An address that is missing; a table or node that is not there.
    pub fn outer<K: Kind>(&self, router: &mut Router) -> Result<(Outer, Option<Slot>), Error> {
        let src = self.src.ok_or_else(|| Error::new("the own address is missing"))?;
        let dst = self.dst.ok_or_else(|| Error::new("the address of the far end is missing"))?;
        let table = router.tunnel_table(src, self.vrf)?;
        let input = K::INPUT[usize::from(src.is_ipv6())];
        let next = self.next.as_deref().map(|node| {
            let known = router.engine.index_of(node);
            known.ok_or_else(|| Error::new(format!("unknown node `{node}'")))?;
            router.engine.connect(input, node).map_err(|e| Error::new(e.to_string()))
        });
        let outer = Outer { group_over: self.group_over, ..Outer::new(src, dst, table) };
        Ok((outer, next.transpose()?))
    }
    /// Makes the tunnel, whose interface is named then, or deletes it.
    ///
    /// # Errors
    /// Why not.
    pub fn carry_out<K: Kind>(
        &self,
        router: &mut Router,
        instance: Option<u32>,
        outer: Outer,
        kind: K,
    ) -> Result<Output, Error> {
        let interface = router.add_or_remove_tunnel(!self.is_del, instance, outer, kind)?;
        if self.is_del {
            return Ok(Output::none());
        }
        Ok(Output::text(format!("{}\n", router.interfaces.name(interface.0))))
    }
}

/// Registers the commands of a kind about its bypass nodes, of IPv4 and IPv6.
#[macro_export]
macro_rules! bypass_commands {
    ($cli:expr, $kind:ty, $ip4:literal, $ip6:literal) => {{
        /// Have packets of tunnels over IPv4 leave the usual way where they come in.
        #[derive(control::cli::Command)]
        #[command($ip4)]
        struct Bypass4 {
            /// interface
            #[positional]
            interface: $crate::InterfaceIndex,
            /// no longer
            del: bool,
        }
        /// Have packets of tunnels over IPv6 leave the usual way where they come in.
        #[derive(control::cli::Command)]
        #[command($ip6)]
        struct Bypass6 {
            /// interface
            #[positional]
            interface: $crate::InterfaceIndex,
            /// no longer
            del: bool,
        }
        $cli.command(|router: &mut $crate::Router, c: Bypass4| {
            let done = router.bypass::<$kind>(c.interface, false, !c.del);
            done.map_err(|_| control::cli::Error::new("no such interface"))
        });
        $cli.command(|router: &mut $crate::Router, c: Bypass6| {
            let done = router.bypass::<$kind>(c.interface, true, !c.del);
            done.map_err(|_| control::cli::Error::new("no such interface"))
        });
    }};
}
pub use bypass_commands as bypass;
