//! The control plane: enabling the layer, namespaces, rules, certificates, commands and API
//! messages.
//!
//! A command and all versions of its message call the same request, a function of the module that
//! owns the state. State for the data plane is in [`published`].

mod api;
pub mod apps;
pub mod certificates;
mod cli;
mod error;
pub mod filters;
pub mod namespaces;
pub mod profiles;
pub mod published;
pub mod rules;
pub mod sdl;
pub mod settings;
pub mod sources;
mod tables;
#[cfg(test)]
mod tests;

use control::feature::{Refused, Registered};
use infra::rcu::{Shared, SharedSlab};
use net::fib::Source;
use net::{Parts, Router, refuse};

pub use api::*;
pub use certificates::MOST_CERTIFICATES;
pub(crate) use cli::configuration;
pub use error::Error;
pub use namespaces::MOST_NAMESPACES;
pub use published::{Backend, Policy};
pub use rules::MOST_RULES;
pub use sdl::MOST_SDL;
pub use sources::MOST_SOURCES;
pub use tables::Place;

/// Callbacks for changes.
#[derive(Clone, Copy)]
pub struct Hook {
    /// Called after the layer is enabled (true), and before it is disabled (false).
    pub switch: fn(&mut Router, bool),
    /// Called after a namespace has changed, and before it is deleted.
    pub namespace: fn(&mut Router, u32, namespaces::Change),
}

/// State of the control plane.
pub(crate) struct Control {
    backend: Shared<Option<Backend>>,
    /// The backend with which the startup configuration enables the layer.
    at_start: Option<Backend>,
    /// Whether app sockets are enabled.
    pub(crate) has_app_sockets: bool,
    apps: apps::Apps,
    namespaces: namespaces::Namespaces,
    tables: tables::Tables,
    /// Whether publication of changed rules is scheduled.
    is_catching_up: bool,
    published: Published,
    certificates: certificates::Certificates,
    profiles: profiles::Profiles,
    sources: sources::Sources,
    settings: Shared<settings::Settings>,
    /// Settings of the startup configuration.
    startup: settings::Settings,
    hooks: Registered<Hook>,
}

/// Namespaces published to the nodes.
struct Published {
    namespaces: SharedSlab<published::Namespace>,
}

/// Registers callbacks.
pub fn follow(router: &mut Router, hook: Hook) {
    router.own_mut::<Control>().hooks.push(hook);
}

/// The backend; `None` while the layer is disabled.
pub fn backend(router: &Router) -> Option<Backend> {
    *router.own::<Control>().backend.current()
}

/// State for data-plane threads.
pub fn policy(router: &Router) -> Policy {
    let control = router.own::<Control>();
    let tables = &control.tables.published;
    Policy {
        backend: control.backend.reader(),
        namespaces: control.published.namespaces.reader(),
        global: [tables.global[0].reader(), tables.global[1].reader()],
        local: tables.local.reader(),
        deny4: tables.deny4.reader(),
        deny6: tables.deny6.reader(),
        sources: control.sources.reader(),
        settings: control.settings.reader(),
    }
}

fn check_enabled(router: &Router) -> Result<(), Error> {
    backend(router).map(drop).ok_or(Error::Disabled)
}

impl Backend {
    /// Its keyword.
    pub const fn word(self) -> &'static str {
        match self {
            Self::RuleTable => "rule-table",
            Self::None => "none",
            Self::Sdl => "sdl",
        }
    }
}

/// Enables the layer. No effect if it is already enabled with the same backend.
///
/// # Errors
/// [`Error::OtherBackend`].
pub fn enable(router: &mut Router, new: Backend) -> Result<(), Error> {
    match backend(router) {
        Some(old) if old == new => return Ok(()),
        Some(old) => return Err(Error::OtherBackend(old.word())),
        None => {}
    }
    router.own_mut::<Control>().backend.publish(Some(new));
    namespaces::add_default(router)?;
    switch(router, true);
    Ok(())
}

/// Disables the layer: detaches applications, resets their connections, and deletes namespaces,
/// rules, certificates and profiles.
pub fn disable(router: &mut Router) {
    if backend(router).is_none() {
        return;
    }
    switch(router, false);
    namespaces::remove_all(router);
    let control = router.own_mut::<Control>();
    control.certificates.clear();
    control.profiles.clear();
    control.backend.publish(None);
}

fn switch(router: &mut Router, is_on: bool) {
    let hooks: Vec<Hook> = router.own::<Control>().hooks.iter().copied().collect();
    for hook in hooks {
        (hook.switch)(router, is_on);
    }
}

/// Registers commands, messages and state of the control plane.
///
/// # Errors
/// A stanza is invalid.
pub(crate) fn register(parts: &mut Parts<'_>) -> Result<(), Refused> {
    let startup = settings::Startup::read(parts)?;
    let router = &mut *parts.router;
    let namespaces = SharedSlab::new(MOST_NAMESPACES).map_err(refuse)?;
    let source = router.fib.sources.add_own("session", Source::SPECIAL.priority());
    let source = source.ok_or_else(|| refuse("no room for another source of routes"))?;
    router.insert(Control {
        backend: Shared::new(None),
        at_start: startup.backend,
        has_app_sockets: startup.has_app_sockets,
        apps: apps::Apps::default(),
        namespaces: namespaces::Namespaces::default(),
        tables: tables::Tables::new().map_err(refuse)?,
        is_catching_up: false,
        published: Published { namespaces },
        certificates: certificates::Certificates::default(),
        profiles: profiles::Profiles::default(),
        sources: sources::Sources::new(source),
        settings: Shared::new(startup.settings.clone()),
        startup: startup.settings,
        hooks: Registered::default(),
    });
    router.addresses.observe(|router, interface, _| namespaces::follow_tables(router, interface));
    router.interfaces.observe(namespaces::follow);
    cli::register(&mut parts.cli);
    api::register(&mut parts.api);
    parts.router.on_start(enable_at_start);
    Ok(())
}

/// Enables the layer, if the startup configuration says so, once the threads run.
fn enable_at_start(router: &mut Router) {
    if let Some(backend) = router.own::<Control>().at_start
        && let Err(why) = enable(router, backend)
    {
        router.log.class("session", "enable").error(why);
    }
}
