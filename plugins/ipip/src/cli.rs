//! Commands about IP in IP tunnels.

use std::net::IpAddr;

use control::cli::{Args, Cli, Command, Error, Output};
use net::tunnel::{Outer, far_end, show};
use net::{InterfaceIndex, Router};

use super::Ipip;

/// Make an IP in IP tunnel.
#[derive(Command)]
#[command("create ipip tunnel")]
struct Create {
    /// own address
    src: IpAddr,
    /// far end; left out with p2mp
    dst: Option<IpAddr>,
    /// number in the interface's name
    instance: Option<u32>,
    /// table that leads to the far end
    #[values("table-id")]
    outer_table_id: Option<u32>,
    /// several far ends, which the TEIB knows
    p2mp: bool,
}

/// `delete ipip tunnel sw_if_index N`, or an interface.
struct Delete(InterfaceIndex);

impl Command for Delete {
    const PATHS: &'static [&'static str] = &["delete ipip tunnel"];
    const ABOUT: &'static str = "Delete an IP in IP tunnel";
    const USAGE: &'static str = "{<interface> | sw_if_index <sw_if_index>}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        show::interface(args).map(Self)
    }
}

/// Show the IP in IP tunnels.
#[derive(Command)]
#[command("show ipip tunnel")]
struct Show;

/// Show where packets from far ends of IP in IP tunnels belong.
#[derive(Command)]
#[command("show ipip tunnel-hash")]
struct ShowEnds;

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: Create| {
        let dst = far_end(c.src, c.dst, c.p2mp)?;
        let table = router.tunnel_table(c.src, c.outer_table_id.unwrap_or_default())?;
        let made = router.add_tunnel(c.instance, Outer::new(c.src, dst, table), Ipip::default())?;
        Ok(Output::text(format!("{}\n", router.interfaces.name(made.0))))
    });
    cli.command(|router: &mut Router, Delete(interface): Delete| {
        Ok(super::sixrd::remove(router, interface, false)?)
    });
    cli.command(|router: &mut Router, _: Show| {
        Ok(show::all::<Ipip>(router, "ipip", |_| String::new()))
    });
    cli.command(|router: &mut Router, _: ShowEnds| Ok(show::ends::<Ipip>(router)));
}
