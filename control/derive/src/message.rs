//! `Message`, `Record` and `Union`: declarations of the binary API.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Data, DeriveInput, Error, Fields, Ident, Lit, LitStr, Path, Token};

use crate::body::{Body, fields, info};
use crate::field::doc;

pub fn record(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = fields(input)?;
    let body = Body::of(&fields);
    let Body { infos, size, encode, decode } = &body;
    let (ident, name, file) = (&input.ident, name(input)?, file(input)?);
    let about = doc(&input.attrs);
    Ok(quote! {
        impl ::control::api::Field for #ident {
            const TYPE: ::control::api::schema::Type = ::control::api::schema::Type::Named(
                &::control::api::schema::Declaration {
                    name: #name,
                    file: #file,
                    about: #about,
                    body: ::control::api::schema::Body::Record(#infos),
                },
            );
            const SIZE: usize = #size;

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }

            fn decode(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                #decode
            }
        }
    })
}

/// Fields that several messages have, and the reply of a request that has no others.
pub fn shared(input: &DeriveInput) -> syn::Result<TokenStream> {
    let fields = fields(input)?;
    let Body { infos, size, encode, decode } = Body::of(&fields);
    let ident = &input.ident;
    Ok(quote! {
        impl ::control::api::Fields for #ident {
            const FIELDS: &'static [::control::api::schema::FieldInfo] = #infos;
            const SIZE: usize = #size;

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }

            fn decode(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                #decode
            }
        }

        impl ::control::api::Reply for #ident {
            fn encode_reply(&self, out: &mut ::std::vec::Vec<u8>) {
                ::control::api::Fields::encode(self, out);
            }

            fn decode_reply(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                ::control::api::Fields::decode(from)
            }
        }
    })
}

pub fn message(input: &DeriveInput) -> syn::Result<TokenStream> {
    let about = doc(&input.attrs);
    if about.is_empty() {
        return Err(Error::new_spanned(&input.ident, "needs a doc comment: it is the reference"));
    }
    let fields = fields(input)?;
    let Body { infos, size, encode, decode } = Body::of(&fields);
    let (ident, name) = (&input.ident, name(input)?);
    let head = head(input)?;
    let options = options(&input.attrs)?;
    let request = request(input, &head, &name)?;
    let head = format_ident!("{head}");
    Ok(quote! {
        impl ::control::api::Message for #ident {
            const INFO: &'static ::control::api::schema::MessageInfo =
                &::control::api::schema::MessageInfo {
                    name: #name,
                    about: #about,
                    head: ::control::api::schema::Head::#head,
                    fields: #infos,
                    options: &[#options],
                    size: #size,
                };

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                #encode
            }

            fn decode(
                from: &mut ::control::api::Reader<'_>,
            ) -> ::core::result::Result<Self, ::control::api::Short> {
                #decode
            }
        }
        #request
    })
}

pub fn union(input: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(
            &input.ident,
            "expected an enum with a variant for each arm",
        ));
    };
    let (ident, name, file) = (&input.ident, name(input)?, file(input)?);
    let about = doc(&input.attrs);
    let (mut infos, mut arms, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        let Fields::Unnamed(inner) = &variant.fields else {
            return Err(Error::new_spanned(variant, "expected one type in parentheses"));
        };
        let Some(arm) = inner.unnamed.first().filter(|_| inner.unnamed.len() == 1) else {
            return Err(Error::new_spanned(variant, "expected one type in parentheses"));
        };
        let (ty, case) = (&arm.ty, &variant.ident);
        let name = renamed(&variant.attrs)?.unwrap_or_else(|| snake(&case.to_string()));
        infos.push(info(&name, ty, &doc(&variant.attrs), &options(&variant.attrs)?));
        arms.push(quote!(Self::#case(arm) => ::control::api::Field::encode(arm, out),));
        sizes.push(quote!(<#ty as ::control::api::Field>::SIZE));
    }
    Ok(quote! {
        impl ::control::api::Union for #ident {
            const DECLARATION: &'static ::control::api::schema::Declaration =
                &::control::api::schema::Declaration {
                    name: #name,
                    file: #file,
                    about: #about,
                    body: ::control::api::schema::Body::Union(&[#(#infos),*]),
                };
            const SIZE: usize = {
                let mut size = 0;
                #(if #sizes > size { size = #sizes; })*
                size
            };

            fn encode(&self, out: &mut ::std::vec::Vec<u8>) {
                match self { #(#arms)* }
            }
        }
    })
}

/// `Request`, `Reply`, …, from `#[head(…)]` or the ending of the name.
fn head(input: &DeriveInput) -> syn::Result<String> {
    if let Some(attr) = attribute(&input.attrs, "head") {
        let word: Ident = attr.parse_args()?;
        let known = ["request", "reply", "details", "event", "index", "bare"];
        if !known.iter().any(|head| word == head) {
            return Err(Error::new(word.span(), format!("expected one of {known:?}")));
        }
        let text = word.to_string();
        return Ok(text[..1].to_uppercase() + &text[1..]);
    }
    let name = input.ident.to_string();
    let ending = ["Reply", "Details", "Event"].into_iter().find(|ending| name.ends_with(ending));
    Ok(ending.unwrap_or("Request").to_owned())
}

/// Reply to a request, and the kind of its service.
fn request(input: &DeriveInput, head: &str, name: &str) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let types =
        |attr: &Attribute| attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    let info = |path: &Path| quote!(<#path as ::control::api::Message>::INFO);
    let answer = if let Some(attr) = attribute(&input.attrs, "reply") {
        let reply: Path = attr.parse_args()?;
        let info = info(&reply);
        quote! {
            impl ::control::api::Call for #ident {
                type Reply = #reply;
                const REPLY: &'static ::control::api::schema::MessageInfo = #info;
            }
        }
    } else if let Some(attr) = attribute(&input.attrs, "replies") {
        let (reply, name) = (attr.parse_args::<Path>()?, format!("{name}_reply"));
        let options = options(&input.attrs)?;
        quote! {
            impl ::control::api::Call for #ident {
                type Reply = #reply;
                const REPLY: &'static ::control::api::schema::MessageInfo =
                    &::control::api::reply_of::<#reply>(#name, &[#options]);
            }
        }
    } else if let Some(attr) = attribute(&input.attrs, "details") {
        let details: Path = attr.parse_args()?;
        quote!(impl ::control::api::Dump for #ident { type Details = #details; })
    } else if let Some(attr) = attribute(&input.attrs, "stream") {
        let types: Vec<_> = types(attr)?.into_iter().collect();
        let [details, reply] = types.as_slice() else {
            return Err(Error::new_spanned(attr, "expected #[stream(Details, Reply)]"));
        };
        quote! {
            impl ::control::api::Stream for #ident {
                type Details = #details;
                type Reply = #reply;
            }
        }
    } else if attribute(&input.attrs, "silent").is_some() {
        TokenStream::new()
    } else if head == "Request" {
        let (reply, options) = (format!("{name}_reply"), options(&input.attrs)?);
        quote! {
            impl ::control::api::Call for #ident {
                type Reply = ();
                const REPLY: &'static ::control::api::schema::MessageInfo =
                    &::control::api::plain_reply(#reply, &[#options]);
            }
        }
    } else {
        return Ok(TokenStream::new());
    };
    let events = attribute(&input.attrs, "events").map(types).transpose()?.unwrap_or_default();
    let events = events.iter().map(info);
    Ok(quote! {
        impl ::control::api::Request for #ident {
            const EVENTS: &'static [&'static ::control::api::schema::MessageInfo] =
                &[#(#events),*];
        }
        #answer
    })
}

/// The options of a message, field or arm as pairs.
pub fn options(attrs: &[Attribute]) -> syn::Result<TokenStream> {
    let mut options = TokenStream::new();
    for attr in attrs {
        let path = attr.path();
        if path.is_ident("preset") {
            let value = preset(attr.parse_args()?)?;
            options.extend(quote!(("default", #value),));
        } else if path.is_ident("discriminator") || path.is_ident("case") {
            let word: LitStr = attr.parse_args()?;
            let name = if path.is_ident("case") { "case" } else { "discriminator" };
            options.extend(quote!((#name, ::control::api::schema::Preset::Word(#word)),));
        } else if path.is_ident("option") {
            let words = attr.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
            let mut words = words.iter();
            let name = words.next();
            let value = match words.next() {
                Some(word) => quote!(::control::api::schema::Preset::Word(#word)),
                None => quote!(::control::api::schema::Preset::None),
            };
            options.extend(quote!((#name, #value),));
        }
    }
    Ok(options)
}

fn preset(value: Lit) -> syn::Result<TokenStream> {
    match value {
        Lit::Int(number) => Ok(quote!(::control::api::schema::Preset::Number(#number))),
        Lit::Float(number) => Ok(quote!(::control::api::schema::Preset::Real(#number))),
        Lit::Str(word) => Ok(quote!(::control::api::schema::Preset::Word(#word))),
        Lit::Bool(value) => {
            let word = value.value.to_string();
            Ok(quote!(::control::api::schema::Preset::Word(#word)))
        }
        other => Err(Error::new_spanned(other, "expected a number, text or truth value")),
    }
}

pub fn attribute<'a>(attrs: &'a [Attribute], name: &str) -> Option<&'a Attribute> {
    attrs.iter().find(|attr| attr.path().is_ident(name))
}

/// The string of `#[name("…")]`.
pub fn renamed(attrs: &[Attribute]) -> syn::Result<Option<String>> {
    let name = attribute(attrs, "name").map(Attribute::parse_args::<LitStr>).transpose()?;
    Ok(name.map(|name| name.value()))
}

fn name(input: &DeriveInput) -> syn::Result<String> {
    Ok(renamed(&input.attrs)?.unwrap_or_else(|| snake(&input.ident.to_string())))
}

/// The string of `#[file("…")]`; empty for the module's own.
fn file(input: &DeriveInput) -> syn::Result<String> {
    let file = attribute(&input.attrs, "file").map(Attribute::parse_args::<LitStr>).transpose()?;
    Ok(file.map(|file| file.value()).unwrap_or_default())
}

/// `sw_interface_set_flags` of `SwInterfaceSetFlags`.
fn snake(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
