//! Sessions as rows, and their end, in slices.

use net::prelude::*;
use sessions::Walked;
use sessions::slices::{self, Gather, Slices};

use super::Sfdp;
use super::error::Error;
use super::session::{Family, Ip4, Ip6, One, release_all};
use super::show::Row;
use super::tenant;
use super::user::User;

/// Sessions that are not over and of which tenants are meant, by their number, in slices.
pub(super) fn rows(
    router: &Router,
    is_meant: impl Fn(u32) -> bool + Clone + Send + 'static,
) -> Slices<Row> {
    slices::chain([
        rows_of::<Ip4>(router, is_meant.clone()),
        rows_of::<Ip6>(router, is_meant.clone()),
        rows_of::<User>(router, is_meant),
    ])
}

fn rows_of<F: Family>(
    router: &Router,
    is_meant: impl Fn(u32) -> bool + Clone + Send + 'static,
) -> Slices<Row> {
    let sfdp = router.own::<Sfdp>();
    let (of, classes) = (F::of(&sfdp.core), sfdp.classes.clone());
    let now = router.now();
    let found = of.slices(move |_, session: &mut One<F::Address>| {
        let timeout = classes.get(usize::from(session.class())).copied().unwrap_or(0.0);
        let is_over = now - session.heard() > timeout;
        let is_shown = !is_over && is_meant(session.data.tenant);
        Walked::keep(is_shown.then_some((*session, timeout)))
    });
    slices::map(found, move |router: &Router, (s, timeout)| {
        let tenants = &router.own::<Sfdp>().tenants;
        let id = |number| tenants.at(number).map_or(number, |tenant| tenant.id);
        Row::of::<F>(&s, (now, timeout), id(s.data.tenant))
    })
}

/// Those of the rows that are meant.
pub(super) fn filtered(
    mut rows: Slices<Row>,
    mut is_meant: impl FnMut(&Row) -> bool + 'static,
) -> Slices<Row> {
    Box::new(move |router| {
        let found = rows(router)?;
        Ok(found.map(|all| all.into_iter().filter(|row| is_meant(row)).collect()))
    })
}

/// Sessions of TCP.
pub(super) fn tcp_rows(router: &Router) -> Slices<Row> {
    filtered(rows(router, |_| true), |row| row.protocol == Protocol::TCP)
}

/// Ends a session by its number, or all; `answer` makes the answer.
pub(super) fn kill<R: 'static>(
    router: &Router,
    number: u32,
    is_all: bool,
    answer: impl FnOnce(Result<(), Error>) -> R + 'static,
) -> Gather<(), R> {
    let mut ending = tenant::ending(router, move |_, this| is_all || this == number);
    let released: Slices<()> = Box::new(move |router| {
        let ended = ending(router)?;
        release_all(&mut router.own_mut::<Sfdp>().owners, ended.as_deref().unwrap_or_default());
        Ok(ended.map(|ended| vec![(); ended.len()]))
    });
    Gather::all(released, move |_, ended| {
        answer(match ended {
            Ok(ended) if ended.is_empty() && !is_all => Err(Error::NoSession),
            Ok(_) => Ok(()),
            Err(_) => Err(Error::NoAnswer),
        })
    })
}
