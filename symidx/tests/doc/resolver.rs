// For the examples in the documentation, as an expression: a resolver for those modules
// with that store, and the folder that it reads.
{
    let modules = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/modules.rs"));
    let (directory, store) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/store.rs"));
    (directory, symidx::process::Resolver::new(modules, std::sync::Arc::new(store)))
}
