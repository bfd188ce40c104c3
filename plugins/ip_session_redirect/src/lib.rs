//! Sessions of the classifier that send packets along paths, whatever their destination: packets
//! that an interface receives (`set interface input acl`) or that are punted (`punt_acl_add_del`).
//!
//! A session leads to a load balance that follows its paths, as a route's does. Packets of one
//! version may leave by next hops of the other.
#![forbid(unsafe_code)]

mod api;
mod cli;

use classify::Classifier;
use net::fib::{self, Followed, GivenPaths, Path};
use net::prelude::*;

pub use api::*;

/// Redirected sessions.
pub const FEATURE: Feature = Feature {
    name: "ip_session_redirect",
    about: "IP session redirect",
    origin: Origin::Plugin,
    default_enabled: true,
    requires: &["classify"],
    register,
    configuration: Configuration::Commands(cli::configuration),
};

/// The links whose packets are redirected.
pub const LINKS: [Link; 2] = [Link::Ip4, Link::Ip6];

/// Destination of the packets of a session.
pub struct Redirect {
    /// Classifier table.
    pub table: u32,
    /// Bytes of a packet: those that the table leaves out, then those that it compares.
    pub matched: Vec<u8>,
    /// Opaque value for the client.
    pub opaque: u32,
    /// Whether it is about punted packets, as the client says.
    pub is_punt: bool,
    /// The version of the packets, a place in [`LINKS`].
    pub version: usize,
    /// The paths.
    pub paths: Vec<Path>,
    followed: Followed,
}

/// A redirection to be made.
pub struct NewRedirect {
    /// As [`Redirect::table`].
    pub table: u32,
    /// As [`Redirect::matched`]; what is behind the end of the mask is left away.
    pub matched: Vec<u8>,
    /// As [`Redirect::opaque`].
    pub opaque: u32,
    /// As [`Redirect::is_punt`].
    pub is_punt: bool,
    /// As [`Redirect::version`].
    pub version: usize,
    /// As [`Redirect::paths`].
    pub paths: Vec<Path>,
}

/// All by their load balance.
#[derive(Default)]
struct Redirects(BTreeMap<u32, Redirect>);

/// Reasons why a redirection is refused.
#[derive(Clone, Debug, PartialEq, Eq, Refusal)]
pub enum Error {
    /// {0}
    #[from]
    Session(classify::Error),
    /// a redirect needs paths
    #[retval(INVALID_VALUE)]
    NoPaths,
    /// invalid path: {0}
    #[retval(INVALID_VALUE)]
    Path(fib::Error),
}

/// The redirections of a table, or of all, in the order of the tables and their sessions.
pub fn all(router: &Router, table: Option<u32>) -> impl Iterator<Item = &Redirect> {
    let tables = router.own::<Classifier>();
    let numbers = tables.numbers().filter(move |n| table.is_none_or(|only| only == *n));
    let infos = numbers.filter_map(|n| tables.table(n));
    let actions = infos.flat_map(|info| info.sessions.iter().map(|(_, session)| session.action));
    actions.filter_map(|action| match action {
        classify::Action::Redirect(balance) => router.own::<Redirects>().0.get(&balance),
        _ => None,
    })
}

/// Sets the paths of a session's packets.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, new: NewRedirect) -> Result<(), Error> {
    let NewRedirect { table, mut matched, opaque, is_punt, version, paths } = new;
    if paths.is_empty() {
        return Err(Error::NoPaths);
    }
    let info = router.own::<Classifier>().table(table).ok_or(classify::Error::NoTable)?;
    matched.truncate((info.table.skip + info.table.mask.vectors()) * classify::VECTOR);
    // As its packets take them, whatever version the next hops have.
    let paths: Vec<_> = paths.iter().map(|path| path.with_link(LINKS[version])).collect();
    let followed = router.follow_paths(&paths, None).map_err(Error::Path)?;
    let balance = followed.load_balance();
    match classify::redirect(router, table, &matched, opaque, balance) {
        Ok(before) => {
            let redirect = Redirect { table, matched, opaque, is_punt, version, paths, followed };
            router.own_mut::<Redirects>().0.insert(balance, redirect);
            before.into_iter().for_each(|before| forget(router, before));
            Ok(())
        }
        Err(why) => {
            router.unfollow(followed);
            Err(why.into())
        }
    }
}

/// Redirects the packets of a session no longer.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn remove(router: &mut Router, table: u32, matched: &[u8]) -> Result<(), Error> {
    let balance = classify::end_redirect(router, table, matched)?;
    forget(router, balance);
    Ok(())
}

fn forget(router: &mut Router, balance: u32) {
    if let Some(gone) = router.own_mut::<Redirects>().0.remove(&balance) {
        router.unfollow(gone.followed);
    }
}

impl GivenPaths for Redirects {
    type Key = u32;

    fn all(router: &Router) -> impl Iterator<Item = (u32, &[Path])> {
        let all = router.own::<Self>().0.iter();
        all.map(|(balance, redirect)| (*balance, &*redirect.paths))
    }
    fn replace(router: &mut Router, balance: &u32, left: Vec<Path>) -> bool {
        let is_done = router.refollow(*balance, &left).is_ok();
        if let Some(redirect) = router.own_mut::<Self>().0.get_mut(balance).filter(|_| is_done) {
            redirect.paths = left;
        }
        is_done
    }
    fn end(router: &mut Router, balance: &u32) {
        let Redirect { table, matched, .. } = &router.own::<Self>().0[balance];
        let (table, matched) = (*table, matched.clone());
        remove(router, table, &matched).expect("its session is there as long as it is");
    }
}

fn register(parts: &mut Parts) -> Result<(), Refused> {
    let router = &mut *parts.router;
    router.insert(Redirects::default());
    router.interfaces.observe(fib::forget_paths::<Redirects>);
    classify::add_user(router, |router, table| {
        router.own::<Redirects>().0.values().any(|redirect| redirect.table == table)
    });
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    Ok(())
}
