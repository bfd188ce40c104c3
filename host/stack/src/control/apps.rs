//! Names of applications: each attached application has a number and belongs to a namespace.

use std::collections::BTreeMap;

use net::Router;

use super::error::Error;
use super::{Control, check_enabled, filters, namespaces, profiles};

/// Limit of applications.
pub const MOST_APPS: usize = 1024;
/// Longest name in bytes.
const LONGEST_NAME: usize = 63;

/// An application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// Name, unique.
    pub name: String,
    /// Number of its namespace.
    pub namespace: u32,
}

/// All applications by number.
#[derive(Debug, Default)]
pub(super) struct Apps(BTreeMap<u32, App>);

/// Adds an application and returns its number.
///
/// # Errors
/// [`Error`]; nothing has changed then.
pub fn add(router: &mut Router, name: &str, namespace: u32) -> Result<u32, Error> {
    check_enabled(router)?;
    namespaces::at(router, namespace)?;
    let is_name = control::cli::is_word(name) && name.len() <= LONGEST_NAME;
    if !is_name || name.parse::<u32>().is_ok() {
        return Err(Error::BadAppName);
    }
    let all = &mut router.own_mut::<Control>().apps.0;
    if all.values().any(|app| app.name == name) {
        return Err(Error::AppExists(name.to_owned()));
    }
    if all.len() >= MOST_APPS {
        return Err(Error::TooManyApps);
    }
    let index = all.keys().zip(0..).take_while(|(used, index)| *used == index).count() as u32;
    all.insert(index, App { name: name.to_owned(), namespace });
    Ok(index)
}

/// Takes an application out, with its TLS profiles and the rules that send connections to it: its
/// number may be another's next.
pub fn remove(router: &mut Router, index: u32) {
    router.own_mut::<Control>().apps.0.remove(&index);
    profiles::forget(router, index);
    filters::forget_app(router, index);
}

/// The number of an application given by number or name.
///
/// # Errors
/// [`Error::UnknownApp`].
pub fn find(router: &Router, which: &str) -> Result<u32, Error> {
    let all = &router.own::<Control>().apps.0;
    let by_number = which.parse().ok().filter(|index| all.contains_key(index));
    let by_name = || all.iter().find(|(_, app)| app.name == which).map(|(index, _)| *index);
    by_number.or_else(by_name).ok_or_else(|| Error::UnknownApp(which.to_owned()))
}

/// An application.
pub fn at(router: &Router, index: u32) -> Option<&App> {
    router.own::<Control>().apps.0.get(&index)
}

/// All applications by number.
pub fn all(router: &Router) -> impl Iterator<Item = (u32, &App)> {
    router.own::<Control>().apps.0.iter().map(|(index, app)| (*index, app))
}
