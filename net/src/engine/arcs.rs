//! Messages of the module `feature`: what is on the arcs of an interface.

use control::api::{Api, Message, Retval, Text};

use super::features::Refusal;
use crate::interface::InterfaceIndex;
use crate::router::Router;

/// Enable or disable a feature on an interface.
#[derive(Message)]
struct FeatureEnableDisable {
    sw_if_index: InterfaceIndex,
    enable: bool,
    arc_name: Text<64>,
    feature_name: Text<64>,
}

/// Get whether a feature is enabled.
#[derive(Message)]
#[reply(FeatureIsEnabledReply)]
struct FeatureIsEnabled {
    arc_name: Text<64>,
    feature_name: Text<64>,
    sw_if_index: InterfaceIndex,
}

/// Whether a feature is enabled.
#[derive(Message)]
#[head(request)]
struct FeatureIsEnabledReply {
    retval: i32,
    is_enabled: bool,
}

pub(super) fn register(api: &mut Api<Router>) {
    api.core("feature", "1.0.2")
        .call(|router: &mut Router, m: FeatureEnableDisable| {
            router.switch_feature(m.sw_if_index, &m.arc_name, &m.feature_name, m.enable)?;
            Ok(())
        })
        .call(|router, m: FeatureIsEnabled| {
            let is_enabled = is_on(router, m.sw_if_index, &m.arc_name, &m.feature_name)?;
            Ok(FeatureIsEnabledReply { retval: 0, is_enabled })
        });
}

impl From<Refusal> for Retval {
    fn from(why: Refusal) -> Self {
        match why {
            Refusal::NoInterface => Self::INVALID_SW_IF_INDEX,
            Refusal::NoArc => Self::INVALID_VALUE,
            Refusal::NotOnArc => Self::INVALID_VALUE_2,
        }
    }
}

/// Whether a feature is on; an error that names a missing object.
fn is_on(
    router: &Router,
    interface: InterfaceIndex,
    arc: &str,
    feature: &str,
) -> Result<bool, Retval> {
    router.interfaces.at(interface).ok_or(Retval::INVALID_SW_IF_INDEX)?;
    let mut arcs = router.engine.arcs();
    let (_, features, _) = arcs.find(|a| a.0 == arc).ok_or(Retval::INVALID_VALUE)?;
    features.iter().find(|name| **name == feature).ok_or(Retval::INVALID_VALUE_2)?;
    let on = router.engine.features_of(interface.0);
    Ok(on.iter().any(|(name, features)| *name == arc && features.contains(&feature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::testing::Bench;

    #[test]
    fn features_are_switched_and_asked_for() {
        let mut bench = Bench::new();
        let pg0 = bench.pg0;
        bench.talk(|local, router| {
            let set = |arc: &str, feature: &str, enable, sw_if_index| FeatureEnableDisable {
                sw_if_index,
                enable,
                arc_name: arc.into(),
                feature_name: feature.into(),
            };
            let (arc, feature) = ("ip4-unicast", "ip4-full-reassembly-feature");
            let ask = || FeatureIsEnabled {
                arc_name: arc.into(),
                feature_name: feature.into(),
                sw_if_index: pg0,
            };
            for on in [true, false] {
                local.call(router, &set(arc, feature, on, pg0)).unwrap();
                assert_eq!(local.call(router, &ask()).unwrap().is_enabled, on);
            }
            for (message, error) in [
                (set("no-arc", feature, true, pg0), Retval::INVALID_VALUE),
                (set(arc, "no-feature", true, pg0), Retval::INVALID_VALUE_2),
                (set(arc, feature, true, InterfaceIndex(99)), Retval::INVALID_SW_IF_INDEX),
            ] {
                assert_eq!(local.call(router, &message).err(), Some(error));
            }
        });
    }
}
