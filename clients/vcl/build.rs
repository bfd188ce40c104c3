//! Sets the soname to that of VPP's library, so that programs linked with it find this one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libvppcom.so.26.10");
}
