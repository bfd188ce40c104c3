//! Commands about routes and tables.

mod configuration;
mod matched;
mod objects;
mod paths;
mod render;
mod route;
mod shared;
mod show;
mod summary;
mod tables;

use control::cli::Cli;

use crate::router::Router;

pub(super) use configuration::{configuration, find};
pub use configuration::{words as path_words, words_of as words_of_path};
pub(crate) use objects::ShowNumbered;
pub(crate) use paths::parse as parse_paths;
pub use paths::parse_of as paths_of;

pub(super) fn register(cli: &mut Cli<Router>) {
    route::register(cli);
    configuration::register(cli);
    tables::register(cli);
    show::register(cli);
    objects::register(cli);
    shared::register(cli);
}
