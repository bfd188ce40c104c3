//! Directed broadcast (RFC 1812 section 5.3.5.2): packets from elsewhere for all hosts of a
//! connected network are dropped, as RFC 2644 wants, or sent to all of its link. A feature may take
//! them as punted packets: they are for this router, too.

use control::cli::{Cli, Command, Error as Message, Print};

use super::{Error, OnInterface};
use crate::interface::InterfaceIndex;
use crate::router::Router;

impl Router {
    /// Sends packets for all hosts of an interface's IPv4 networks to them, or drops them.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Route`].
    pub fn set_directed_broadcast(
        &mut self,
        interface: InterfaceIndex,
        directed_broadcast: bool,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let on = self.addresses.of(interface).clone();
        self.have(interface, OnInterface { directed_broadcast, ..on })
    }
    /// Punts packets for all hosts of an interface's IPv4 networks for a feature, or drops them.
    /// Directed broadcast has priority.
    ///
    /// # Errors
    /// [`Error::NoInterface`], [`Error::Route`].
    pub fn punt_broadcast(
        &mut self,
        interface: InterfaceIndex,
        punts_broadcast: bool,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let on = self.addresses.of(interface).clone();
        self.have(interface, OnInterface { punts_broadcast, ..on })
    }
}

/// Enable or disable directed broadcasts on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip directed-broadcast")]
pub(super) struct SetDirectedBroadcast {
    /// interface
    #[positional]
    pub interface: InterfaceIndex,
    /// forward directed broadcasts
    pub enable: bool,
    /// drop directed broadcasts; the default
    pub disable: bool,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetDirectedBroadcast| {
        if c.enable == c.disable {
            return Err(Message::new("expected `enable' or `disable'"));
        }
        router.set_directed_broadcast(c.interface, c.enable).map_err(super::cli::plain)
    });
}

#[cfg(test)]
mod tests {
    use crate::neighbor::testing::{Bench, HOST, packet};

    #[test]
    fn broadcasts_from_elsewhere_go_to_the_link_only_where_they_may() {
        let mut b = Bench::new();
        let pg0 = b.pg0;
        let set = "set interface ip directed-broadcast";
        let broadcasts =
            |b: &mut Bench| -> Vec<_> { b.receive(pg0, &vec![packet("10.0.1.255"); 3]) };
        for round in 0..2 {
            assert!(broadcasts(&mut b).is_empty());
            b.expect(&[("null-node", "blackholed packets", 3)]);
            assert_eq!(b.cli(&format!("{set} pg1 enable")), "");
            let out = broadcasts(&mut b);
            assert_eq!(out.len(), 3, "round {round}");
            for caught in &out {
                assert_eq!((caught.tx, &caught.bytes[..6]), (b.pg1.0, &[0xff; 6][..]));
                assert_eq!(caught.bytes[22], 63);
            }
            b.expect(&[]);
            // Addresses that come and go later are no different.
            b.cli("set interface ip address del pg1 10.0.1.1/24");
            b.cli("set interface ip address pg1 10.0.1.1/24");
            b.wait(0.0);
            assert_eq!(broadcasts(&mut b).len(), 3);
            assert_eq!(b.cli(&format!("{set} pg1 disable")), "");
        }
        let mut other = packet("10.0.0.255");
        other[6..12].copy_from_slice(&HOST.0);
        assert!(b.receive(pg0, &[other]).is_empty(), "pg0 was never enabled");
        assert_eq!(
            b.cli(&format!("{set} pg7 enable")),
            format!("{set}: unknown interface `pg7 enable'\n")
        );
        assert_eq!(
            b.cli(&format!("{set} pg1")),
            format!("{set}: expected `enable' or `disable'\n")
        );
    }
}
