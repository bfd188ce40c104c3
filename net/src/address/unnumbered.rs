//! Interfaces without addresses of their own, which send from another's (RFC 1812 section 2.2.7).

use control::cli::{Cli, Command, Error as Message, Line, Print};
use control::configuration::Stage;
use serde::Serialize;
use wire::{Ip4Prefix, Ip6Prefix};

use super::{Error, OnInterface};
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// The addresses of another interface that an unnumbered one uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Borrowed {
    /// Interface whose addresses are used.
    pub from: InterfaceIndex,
    /// They, as long as they are there.
    #[serde(skip)]
    pub ip4: Vec<Ip4Prefix>,
    /// They, as long as they are there.
    #[serde(skip)]
    pub ip6: Vec<Ip6Prefix>,
}

impl Borrowed {
    fn of(from: InterfaceIndex, lender: &OnInterface) -> Self {
        Self { from, ip4: lender.ip4.clone(), ip6: lender.ip6.clone() }
    }
}

impl Router {
    /// Makes an interface use the addresses of another one, or stop with `None`.
    ///
    /// # Errors
    /// [`Error::NoInterface`]; [`Error::NoLender`] if the other does not exist or is unnumbered;
    /// [`Error::HasAddresses`] of its own; [`Error::Lends`] them.
    pub fn set_unnumbered(
        &mut self,
        interface: InterfaceIndex,
        from: Option<InterfaceIndex>,
    ) -> Result<(), Error> {
        self.interfaces.at(interface).ok_or(Error::NoInterface)?;
        let on = self.addresses.of(interface).clone();
        let Some(from) = from else {
            return self.have(interface, OnInterface { borrowed: None, ..on });
        };
        let lender = self.addresses.of(from);
        let is_there = self.interfaces.at(from).is_some();
        if !is_there || from == interface || lender.borrowed.is_some() {
            return Err(Error::NoLender);
        }
        if on.iter().next().is_some() {
            return Err(Error::HasAddresses);
        }
        if !self.addresses.borrowers(interface).is_empty() {
            return Err(Error::Lends);
        }
        let borrowed = Some(Borrowed::of(from, lender));
        self.have(interface, OnInterface { borrowed, ..on })
    }
    /// Follows a change of the addresses of an interface that others borrow from; `None` when it is
    /// about to be deleted.
    pub(super) fn lend(&mut self, from: InterfaceIndex, lender: Option<&OnInterface>) {
        for index in self.addresses.borrowers(from) {
            let on = self.addresses.of(index).clone();
            let borrowed = lender.map(|lender| Borrowed::of(from, lender));
            // It has no routes of its own that could be refused.
            let _ = self.have(index, OnInterface { borrowed, ..on });
        }
    }
}

/// `set interface unnumbered {<interface> use <interface> | del <interface>}`.
#[derive(Debug, PartialEq)]
pub(super) struct SetUnnumbered {
    pub interface: InterfaceIndex,
    pub from: Option<InterfaceIndex>,
}

impl Command for SetUnnumbered {
    const PATHS: &'static [&'static str] = &["set interface unnumbered"];
    const ABOUT: &'static str = "Make an interface unnumbered, using the addresses of another";
    const USAGE: &'static str = "{<interface> use <interface> | del <interface>}";

    fn parse(args: &mut control::cli::Args<'_>) -> Result<Self, Message> {
        if args.keyword("del") {
            return Ok(Self { interface: args.value("interface")?, from: None });
        }
        let interface = args.value("interface")?;
        if !args.keyword("use") {
            return Err(args.error("expected `use' before"));
        }
        Ok(Self { interface, from: Some(args.value("interface")?) })
    }
}

impl Print for SetUnnumbered {
    const STAGE: Stage = Stage::Settings;
    const UNDO: &'static str = "set interface unnumbered del {1}";
    fn print(&self, line: &mut Line<'_>) {
        line.flag("del", self.from.is_none()).value(&self.interface);
        line.option("use", self.from.as_ref());
    }
}

pub(super) fn register(cli: &mut Cli<Router>) {
    cli.command(|router: &mut Router, c: SetUnnumbered| {
        router.set_unnumbered(c.interface, c.from).map_err(|e| Message::new(e.to_string()))
    });
}
