//! Everything this daemon can do.

use control::config::{Plugins, Switch};
use net::Feature;

/// The features that the configuration leaves on. `default { disable }` speaks of plugins in files
/// of their own; what is built in goes only when it is named.
pub fn enabled(plugins: &Plugins) -> impl Iterator<Item = &'static Feature> {
    let named = Plugins { default: None, ..plugins.clone() };
    plugins::features().filter(move |f| match named.switch(f.name) {
        Some(Switch::Enable) => true,
        Some(Switch::Disable) => false,
        None => f.default_enabled,
    })
}

#[cfg(test)]
mod tests {
    use control::config::Config;

    use super::*;

    fn names(text: &str) -> Vec<&'static str> {
        enabled(&Config::parse(text, &[]).unwrap().plugins).map(|f| f.name).collect()
    }

    #[test]
    fn features_are_switched_off_by_name() {
        let all = names("");
        assert!(all.contains(&"ethernet"));
        let without = names("plugins { plugin ethernet_plugin.so { disable } }");
        assert!(!without.contains(&"ethernet"));
        assert_eq!(without.len(), all.len() - 1);
        assert_eq!(names("plugins { default { disable } plugin nosuch.so { enable } }"), all);
    }

    #[test]
    fn no_two_features_share_a_name() {
        let mut all: Vec<_> = plugins::features().map(|f| f.name).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
