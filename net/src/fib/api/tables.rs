//! Tables: made, deleted, named, listed, flushed, replaced.

use control::api::{Api, Message, Record, Retval, Text};
use control::cli::is_printable;

use super::IP_VERSION;
use crate::fib::Error;
use crate::fib::control::path::TableIndex;
use crate::fib::control::source::Source;
use crate::fib::family::{Family, Ip4, Ip6};
use crate::router::Router;

/// A table.
#[derive(Clone, Debug, Default, Record)]
#[file("")]
pub(crate) struct IpTable {
    /// number
    pub table_id: u32,
    /// true for IPv6
    pub is_ip6: bool,
    /// name; empty for one derived from the ID
    pub name: Text<64>,
}

/// Add or delete a table.
#[derive(Message)]
pub(super) struct IpTableAddDel {
    #[preset(true)]
    pub is_add: bool,
    pub table: IpTable,
}

/// Add or delete a table.
#[derive(Message)]
struct IpTableAddDelV2 {
    table: IpTable,
    /// true to create a multicast table as well
    #[preset(true)]
    create_mfib: bool,
    #[preset(true)]
    is_add: bool,
}

/// Create a table that does not exist yet.
#[derive(Message)]
#[reply(IpTableAllocateReply)]
pub(super) struct IpTableAllocate {
    /// table ID; 4294967295 for any free one
    pub table: IpTable,
}

/// The table created.
#[derive(Message)]
pub(super) struct IpTableAllocateReply {
    pub table: IpTable,
}

/// List all tables.
#[derive(Message)]
#[details(IpTableDetails)]
pub(super) struct IpTableDump {}

/// A table.
#[derive(Message)]
pub(super) struct IpTableDetails {
    pub table: IpTable,
}

/// Start replacing all API routes of a table.
#[derive(Message)]
pub(super) struct IpTableReplaceBegin {
    pub table: IpTable,
}

/// Finish replacing routes: delete those not set again.
#[derive(Message)]
pub(super) struct IpTableReplaceEnd {
    pub table: IpTable,
}

/// Delete all API routes of a table.
#[derive(Message)]
pub(super) struct IpTableFlush {
    pub table: IpTable,
}

/// Kinds of routes that a new table is for.
#[derive(Clone, Copy)]
enum Parts {
    /// Unicast and multicast.
    All,
    Unicast,
}

impl IpTable {
    fn of<F: Family>(router: &Router) -> Vec<Self> {
        let tables = F::tables(&router.fib).iter();
        let table = |t: &crate::fib::control::table::Table<F>| Self {
            table_id: t.id,
            is_ip6: F::BITS == 128,
            name: t.name.as_str().into(),
        };
        tables.map(|(_, t)| table(t)).collect()
    }
    /// All tables.
    pub fn all(router: &Router) -> Vec<Self> {
        let mut all = Self::of::<Ip4>(router);
        all.extend(Self::of::<Ip6>(router));
        all
    }
    fn add(&self, router: &mut Router, parts: Parts) -> Result<(), Retval> {
        if self.is_ip6 {
            self.add_of::<Ip6>(router, parts)
        } else {
            self.add_of::<Ip4>(router, parts)
        }
    }
    fn del(&self, router: &mut Router) -> Result<(), Retval> {
        let removed = match self.table_id {
            // Table 0 is always there: to delete it changes nothing.
            0 => Ok(()),
            id if self.is_ip6 => router.remove_table::<Ip6>(id),
            id => router.remove_table::<Ip4>(id),
        };
        // A missing one counts as deleted.
        Ok(removed.or_else(|e| if e == Error::NoTable { Ok(()) } else { Err(e) })?)
    }
    fn add_of<F: Family>(&self, router: &mut Router, parts: Parts) -> Result<(), Retval> {
        let id = self.table_id;
        // Table 0 is always there: to add it changes nothing.
        if id == 0 {
            return Ok(());
        }
        if !is_printable(&self.name) {
            return Err(Retval::INVALID_VALUE);
        }
        let added = match parts {
            Parts::All => router.add_table::<F>(id),
            Parts::Unicast => router.add_unicast_table::<F>(id),
        };
        match added {
            Err(e) if e != Error::TableExists => return Err(e.into()),
            _ => (),
        }
        let table = router.fib.table::<F>(id).ok_or(Retval::NO_SUCH_FIB)?;
        if !self.name.is_empty() {
            router.fib.name_table::<F>(table, &self.name)?;
        }
        Ok(())
    }
    fn allocate<F: Family>(mut self, router: &mut Router) -> Result<Self, Retval> {
        let is_free = |router: &Router, id: u32| router.fib.table::<F>(id).is_none();
        if self.table_id == u32::MAX {
            let found = (1..u32::MAX).find(|id| is_free(router, *id));
            self.table_id = found.ok_or(Retval::LIMIT_EXCEEDED)?;
        }
        self.add_of::<F>(router, Parts::All)?;
        let table = router.fib.table::<F>(self.table_id);
        let table = table.and_then(|t| F::tables(&router.fib).at(t));
        self.name = table.map_or("", |t| &t.name).into();
        Ok(self)
    }
    fn index<F: Family>(&self, router: &Router) -> Result<TableIndex, Retval> {
        router.fib.table::<F>(self.table_id).ok_or(Retval::NO_SUCH_FIB)
    }
}

/// Does the same to a table of either family.
macro_rules! of_family {
    ($router:ident, $table:expr, $method:ident $(, $arg:expr)*) => {
        if $table.is_ip6 {
            let index = $table.index::<Ip6>($router)?;
            $router.$method::<Ip6>(index $(, $arg)*)?
        } else {
            let index = $table.index::<Ip4>($router)?;
            $router.$method::<Ip4>(index $(, $arg)*)?
        }
    };
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("ip", IP_VERSION)
        .call(|router, m: IpTableAddDel| match m.is_add {
            true => m.table.add(router, Parts::All),
            false => m.table.del(router),
        })
        .call(|router, m: IpTableAddDelV2| match (m.is_add, m.create_mfib) {
            (true, true) => m.table.add(router, Parts::All),
            (true, false) => m.table.add(router, Parts::Unicast),
            (false, _) => m.table.del(router),
        })
        .call(|router, m: IpTableAllocate| {
            let table = if m.table.is_ip6 {
                m.table.allocate::<Ip6>(router)?
            } else {
                m.table.allocate::<Ip4>(router)?
            };
            Ok(IpTableAllocateReply { table })
        })
        .dump(|router, _: IpTableDump| {
            IpTable::all(router).into_iter().map(|table| IpTableDetails { table }).collect()
        })
        .call(|router, m: IpTableReplaceBegin| {
            of_family!(router, m.table, begin_replace);
            Ok(())
        })
        .call(|router, m: IpTableReplaceEnd| {
            of_family!(router, m.table, end_replace);
            Ok(())
        })
        .call(|router, m: IpTableFlush| {
            of_family!(router, m.table, flush_table, &[Source::API]);
            Ok(())
        });
}
