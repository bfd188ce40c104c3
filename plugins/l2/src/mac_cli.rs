//! Commands that set and forget addresses.

use net::prelude::*;

use super::domain;
use super::macs::{self, Flush, Target};
use super::scan;
use super::state::Bridging;

/// `l2fib add MAC ID {filter | INTERFACE [static | bvi]}`.
#[derive(Debug, PartialEq)]
pub(super) struct AddMac {
    pub mac: MacAddr,
    pub id: u32,
    pub to: Target,
}

impl Print for AddMac {
    const STAGE: Stage = Stage::Routes;
    const UNDO: &'static str = "l2fib del {1} {2}";
    fn print(&self, line: &mut Line<'_>) {
        line.value(&self.mac).value(&self.id);
        match self.to {
            Target::Filter => line.word("filter"),
            Target::On(i, is_static) => line.value(&i).flag("static", is_static),
            Target::Bvi(i) => line.value(&i).word("bvi"),
        };
    }
}

impl Command for AddMac {
    const PATHS: &'static [&'static str] = &["l2fib add"];
    const ABOUT: &'static str = "Add a MAC address to a bridge domain";
    const USAGE: &'static str = "<mac> <bridge-domain-id> {filter | <interface> [static | bvi]}";
    fn parse(args: &mut Args<'_>) -> Result<Self, Error> {
        let (mac, id) = (args.value("MAC address")?, args.value("bridge domain")?);
        if args.keyword("filter") {
            return Ok(Self { mac, id, to: Target::Filter });
        }
        let interface = args.value("interface")?;
        let to = if args.keyword("bvi") {
            Target::Bvi(interface)
        } else {
            Target::On(interface, args.keyword("static"))
        };
        Ok(Self { mac, id, to })
    }
}

/// Delete a MAC address of a bridge domain.
#[derive(Command)]
#[command("l2fib del")]
struct DelMac {
    /// the address
    #[positional]
    mac: MacAddr,
    /// bridge domain
    #[positional]
    bridge_domain_id: u32,
}

/// Add, delete or check many MAC addresses of a bridge domain.
#[derive(Command)]
#[command("test l2fib")]
struct Test {
    /// add
    add: bool,
    /// delete
    del: bool,
    /// check
    check: bool,
    /// first address
    mac: MacAddr,
    /// bridge domain
    #[keyword("bd_id")]
    domain: u32,
    /// interface of the addresses
    #[keyword("intfc")]
    interface: Option<InterfaceIndex>,
    /// number of addresses
    count: Option<u32>,
    /// drop frames to them
    filter: bool,
    /// static: never aged
    #[keyword("static")]
    is_static: bool,
}

fn test(router: &mut Router, c: &Test) -> Result<Output, Error> {
    let first = c.mac.0.iter().fold(0, |n: u64, byte| n << 8 | u64::from(*byte));
    let index = router.own::<Bridging>().domains.get(&c.domain).map(|d| d.index);
    let index = index.ok_or(domain::Error::NoDomain)?;
    let mut missing = 0;
    for n in 0..u64::from(c.count.unwrap_or(1)) {
        let [_, _, mac @ ..] = (first + n).to_be_bytes();
        let mac = MacAddr(mac);
        let to = match c.interface {
            Some(interface) if !c.filter => Target::On(interface, c.is_static),
            _ => Target::Filter,
        };
        if c.del {
            macs::remove_mac(router, c.domain, mac)?;
        } else if c.check {
            let view = router.own::<Bridging>().fib.view();
            missing += u32::from(view.find(super::fib::key_of(index, mac)) == 0);
        } else if c.interface.is_some() || c.filter {
            macs::add_mac(router, c.domain, mac, to)?;
            scan::wake(router);
        } else {
            return Err(Error::new("expected intfc or filter"));
        }
    }
    Ok(match c.check {
        true => Output::text(format!("{missing} missing\n")),
        false => Output::none(),
    })
}

/// Delete all MAC addresses of all bridge domains.
#[derive(Command)]
#[command("clear l2fib")]
struct Clear {}

/// Delete all learned MAC addresses.
#[derive(Command)]
#[command("l2fib flush-mac all")]
struct FlushAll {}

/// Delete the learned MAC addresses of a bridge domain.
#[derive(Command)]
#[command("l2fib flush-mac bridge-domain")]
struct FlushDomain {
    /// bridge domain
    #[positional]
    bd_id: u32,
}

/// Delete the learned MAC addresses of an interface.
#[derive(Command)]
#[command("l2fib flush-mac interface")]
struct FlushPort {
    /// interface
    #[positional]
    interface: InterfaceIndex,
}

/// Set the interval of MAC learning events.
#[derive(Command)]
#[command("set l2fib scan-delay")]
struct SetDelay {
    /// hundredths of a second
    #[positional]
    delay: u16,
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: AddMac| Ok(macs::add_mac(router, c.id, c.mac, c.to)?));
    cli.command(|router: &mut Router, c: DelMac| {
        Ok(macs::remove_mac(router, c.bridge_domain_id, c.mac)?)
    });
    cli.command(|router: &mut Router, c: Test| {
        if u8::from(c.add) + u8::from(c.del) + u8::from(c.check) != 1 {
            return Err(Error::new("expected one of add, del and check"));
        }
        test(router, &c)
    });
    cli.command(|router: &mut Router, _: Clear| {
        macs::sweep(router, |_, _| true);
        Ok(())
    });
    cli.command(|router: &mut Router, _: FlushAll| Ok(macs::flush(router, Flush::All)?));
    cli.command(|router: &mut Router, c: FlushDomain| {
        Ok(macs::flush(router, Flush::Domain(c.bd_id))?)
    });
    cli.command(|router: &mut Router, c: FlushPort| {
        Ok(macs::flush(router, Flush::Port(c.interface))?)
    });
    cli.command(|router: &mut Router, c: SetDelay| {
        router.own_mut::<Bridging>().scan.delay = c.delay;
        scan::wake(router);
        Ok(())
    });
}
