//! Derives for nodes: `Next`, `Reason`, `Count`.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Fields, Lit, LitStr, Meta, Path, Variant};

/// Edges out of a node: `#[to("node")]`, `#[to("node", payload = Type)]`, one `#[dynamic]` variant
/// that carries a `graph::Slot`, one `#[along]` variant that goes on along the feature arc.
/// Names of nodes are constant expressions, which may depend on the parameters of the enum; other
/// fields of variants are markers of these.
#[proc_macro_derive(Next, attributes(to, dynamic, along))]
pub fn next(input: TokenStream) -> TokenStream {
    expand(input, next_impl)
}

/// Reasons for which a node drops packets: the doc comment is the text, `#[name("…")]` overrides
/// the counter's name.
#[proc_macro_derive(Reason, attributes(name, severity))]
pub fn reason(input: TokenStream) -> TokenStream {
    expand(input, |d| counters_impl(d, &quote!(::graph::Reason), "error"))
}

/// Further counters of a node, declared as for `Reason`.
#[proc_macro_derive(Count, attributes(name, severity))]
pub fn count(input: TokenStream) -> TokenStream {
    expand(input, |d| counters_impl(d, &quote!(::graph::Count), "info"))
}

fn expand(input: TokenStream, f: impl Fn(&DeriveInput) -> syn::Result<Tokens>) -> TokenStream {
    syn::parse(input).and_then(|d| f(&d)).unwrap_or_else(|e| e.to_compile_error()).into()
}

fn variants(d: &DeriveInput) -> syn::Result<Vec<&Variant>> {
    match &d.data {
        Data::Enum(e) => Ok(e.variants.iter().collect()),
        _ => Err(Error::new_spanned(d, "only enums")),
    }
}

fn next_impl(d: &DeriveInput) -> syn::Result<Tokens> {
    let name = &d.ident;
    let (parameters, arguments, bounds) = d.generics.split_for_impl();
    let (mut edges, mut arms) = (Vec::new(), Vec::new());
    for v in variants(d)? {
        let id = &v.ident;
        if has(&v.attrs, "dynamic") {
            arms.push(quote!(Self::#id(slot) => slot.0));
        } else if has(&v.attrs, "along") {
            arms.push(quote!(Self::#id { .. } => along.next(p)));
        } else {
            let (to, payload) = edge(v)?;
            let payload =
                payload.map_or_else(|| quote!(""), |p| quote!(<#p as ::graph::Payload>::NAME));
            let slot = edges.len() as u32;
            edges.push(quote!(::graph::Edge { to: #to, payload: #payload }));
            arms.push(quote!(Self::#id { .. } => #slot));
        }
    }
    Ok(quote! {
        impl #parameters ::graph::Next for #name #arguments #bounds {
            const EDGES: &'static [::graph::Edge] = &[#(#edges),*];
            #[inline(always)]
            #[allow(unused_variables)]
            fn slot(self, along: &::graph::arc::Along<'_>, p: &mut ::graph::Buffer<'_>) -> u32 {
                match self { #(#arms),* }
            }
        }
    })
}

fn edge(v: &Variant) -> syn::Result<(Expr, Option<Path>)> {
    let attr = find(&v.attrs, "to").ok_or_else(|| {
        Error::new_spanned(v, "say where with #[to(\"node\")], #[dynamic] or #[along]")
    })?;
    attr.parse_args_with(|input: syn::parse::ParseStream<'_>| {
        let to = input.parse()?;
        if input.is_empty() {
            return Ok((to, None));
        }
        input.parse::<syn::Token![,]>()?;
        let key: syn::Ident = input.parse()?;
        if key != "payload" {
            return Err(Error::new_spanned(key, "expected `payload`"));
        }
        input.parse::<syn::Token![=]>()?;
        Ok((to, Some(input.parse()?)))
    })
}

fn counters_impl(d: &DeriveInput, of: &Tokens, severity: &str) -> syn::Result<Tokens> {
    let name = &d.ident;
    let (mut rows, mut arms) = (Vec::new(), Vec::new());
    for (i, v) in variants(d)?.into_iter().enumerate() {
        if !matches!(v.fields, Fields::Unit) {
            return Err(Error::new_spanned(v, "no fields: a counter is a number"));
        }
        let text = doc(&v.attrs)
            .ok_or_else(|| Error::new_spanned(v, "say what it means in a doc comment"))?;
        let key = string(&v.attrs, "name")?.unwrap_or_else(|| snake(&v.ident.to_string()));
        let severity = string(&v.attrs, "severity")?.unwrap_or_else(|| severity.to_owned());
        rows.push(quote!(::graph::CounterText { name: #key, text: #text, severity: #severity }));
        let id = &v.ident;
        arms.push(quote!(Self::#id => #i));
    }
    Ok(quote! {
        impl #of for #name {
            const TEXTS: &'static [::graph::CounterText] = &[#(#rows),*];
            #[inline(always)]
            fn index(self) -> usize {
                match self { #(#arms),* }
            }
        }
    })
}

fn find<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attrs.iter().find(|a| a.path().is_ident(name))
}

fn has(attrs: &[Attribute], name: &str) -> bool {
    find(attrs, name).is_some()
}

fn string(attrs: &[Attribute], name: &str) -> syn::Result<Option<String>> {
    find(attrs, name).map(|a| a.parse_args::<LitStr>().map(|l| l.value())).transpose()
}

/// The first paragraph of the doc comment, without its full stop.
fn doc(attrs: &[Attribute]) -> Option<String> {
    let mut text = String::new();
    for a in attrs.iter().filter(|a| a.path().is_ident("doc")) {
        let Meta::NameValue(nv) = &a.meta else { continue };
        let Expr::Lit(e) = &nv.value else { continue };
        let Lit::Str(s) = &e.lit else { continue };
        let line = s.value();
        if line.trim().is_empty() {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text += line.trim();
    }
    let text = text.strip_suffix('.').unwrap_or(&text);
    (!text.is_empty()).then(|| text.to_owned())
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for (i, c) in name.chars().enumerate() {
        if c.is_uppercase() && i > 0 {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
