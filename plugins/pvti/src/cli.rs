//! Commands about packet vector tunnels.

use control::cli::Error as CliError;
use net::prelude::*;
use net::tunnel::command;

use super::{Bypassing, Error, Pvti, Tunnels, UNDERLAY_MTU};

/// Add a packet vector tunnel.
#[derive(Command, Print, Debug, PartialEq)]
#[command("pvti interface create")]
struct Create {
    /// remote address
    peer: IpAddr,
    /// remote port
    #[positional]
    remote_port: u16,
    /// local port
    #[positional]
    local_port: u16,
    /// local address
    #[keyword("local-ip")]
    local_ip: IpAddr,
    /// maximum datagram length
    underlay_mtu: Option<u16>,
    /// table to route the outer packets in
    #[alias("underlay-fib")]
    underlay_table: Option<u32>,
    /// peer address from the payload: refused
    peer_address_from_payload: bool,
}

impl Create {
    fn native(&self, router: &Router) -> Result<Pvti, Error> {
        if self.peer_address_from_payload {
            return Err(Error::FromPayload);
        }
        let id = self.underlay_table.unwrap_or_default();
        let table = router.table_of(Link::of(self.peer), id).ok_or(Error::NoTable(id))?;
        let underlay_mtu = self.underlay_mtu.unwrap_or(UNDERLAY_MTU);
        let (local, remote) = ((self.local_ip, self.local_port), (self.peer, self.remote_port));
        Ok(Pvti { local, remote, underlay_mtu, table })
    }
    fn of(router: &Router, pvti: &Pvti) -> Self {
        let Pvti { local, remote, underlay_mtu, table } = *pvti;
        let id = router.table_id_of(Link::of(remote.0), table);
        Self {
            peer: remote.0,
            remote_port: remote.1,
            local_port: local.1,
            local_ip: local.0,
            underlay_mtu: Some(underlay_mtu).filter(|mtu| *mtu != UNDERLAY_MTU),
            underlay_table: id.filter(|id| *id != 0),
            peer_address_from_payload: false,
        }
    }
}

/// Delete a packet vector tunnel.
#[derive(Command)]
#[command("pvti interface delete")]
struct Delete {
    /// instance number of the interface
    #[keyword("if-index")]
    index: u32,
}

/// Show packet vector tunnels.
#[derive(Command)]
#[command("show pvti interface")]
struct ShowInterfaces;

/// Show peers of transmitted datagrams.
#[derive(Command)]
#[command("show pvti tx peers")]
struct ShowTxPeers;

/// Show peers of received datagrams.
#[derive(Command)]
#[command("show pvti rx peers")]
struct ShowRxPeers;

/// Enable or disable IPv4 bypass for packet vector tunnels on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip pvti-bypass")]
#[stage(Attachments)]
struct Bypass4 {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

/// Enable or disable IPv6 bypass for packet vector tunnels on an interface.
#[derive(Command, Print, Debug, PartialEq)]
#[command("set interface ip6 pvti-bypass")]
#[stage(Attachments)]
struct Bypass6 {
    /// interface
    #[positional]
    interface: InterfaceIndex,
    /// delete
    del: bool,
}

#[derive(Serialize)]
struct Row {
    interface: String,
    sw_if_index: u32,
    local: IpAddr,
    local_port: u16,
    remote: IpAddr,
    remote_port: u16,
    underlay_mtu: u16,
    fib: u16,
    /// Datagrams that packets share have room for so many bytes of chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    room: Option<usize>,
}

fn write_rows(rows: &[Row], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    rows.iter().try_for_each(|row| {
        let Row { interface, sw_if_index, local, local_port, remote, remote_port, .. } = row;
        write!(f, "[{sw_if_index}] {interface} local:{local} {local_port} ")?;
        write!(f, "remote:{remote} {remote_port} ")?;
        write!(f, "underlay_mtu:{} underlay_fib_idx:{}", row.underlay_mtu, row.fib)?;
        row.room.iter().try_for_each(|room| write!(f, " room:{room}"))?;
        writeln!(f)
    })
}

fn rows(router: &Router, is_sending: bool) -> Output {
    let tunnels = router.own::<Tunnels>();
    let row = |(index, t): (&InterfaceIndex, &super::Tunnel)| Row {
        interface: router.interfaces.name(index.0).to_owned(),
        sw_if_index: index.0,
        local: t.pvti.local.0,
        local_port: t.pvti.local.1,
        remote: t.pvti.remote.0,
        remote_port: t.pvti.remote.1,
        underlay_mtu: t.pvti.underlay_mtu,
        fib: t.pvti.table.0,
        room: tunnels.sending.at(index.0).map(|to| to.room).filter(|_| is_sending),
    };
    Output::rows(tunnels.all.iter().map(row), write_rows)
}

fn bypass(
    router: &mut Router,
    on: InterfaceIndex,
    at: usize,
    is_on: bool,
) -> Result<(), NoInterface> {
    let mut setting: Bypassing = router.setting(on);
    setting.0[at] = is_on;
    router.put(on, setting)
}

pub(super) fn configuration(router: &Router, lines: &mut Lines<'_>) {
    for (index, t) in &router.own::<Tunnels>().all {
        command::push(router, lines, *index, &Create::of(router, &t.pvti));
    }
    for (interface, on) in router.settings::<Bypassing>() {
        if on.0[0] {
            lines.push(&Bypass4 { interface, del: false });
        }
        if on.0[1] {
            lines.push(&Bypass6 { interface, del: false });
        }
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        let pvti = c.native(router)?;
        let made = super::add(router, pvti)?;
        Ok::<_, CliError>(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, c: Delete| {
        Ok::<_, CliError>(super::remove(router, InterfaceIndex(c.index))?)
    });
    cli.command(|router: &mut Router, _: ShowInterfaces| Ok(rows(router, false)));
    cli.command(|router: &mut Router, _: ShowTxPeers| Ok(rows(router, true)));
    cli.command(|router: &mut Router, _: ShowRxPeers| Ok(rows(router, false)));
    cli.command(|router: &mut Router, c: Bypass4| {
        Ok::<_, CliError>(bypass(router, c.interface, 0, !c.del)?)
    });
    cli.command(|router: &mut Router, c: Bypass6| {
        Ok::<_, CliError>(bypass(router, c.interface, 1, !c.del)?)
    });
}
