import DocumentModel

/// Something that a trigger's function is run for.
struct TriggerEvent: Sendable {
    /// The same at every delivery.
    let id: String
    /// The function's argument.
    let argument: Document
    /// Milliseconds since 1970: where the run's clock stands.
    let time: Int64

    /// Seeds the run's random numbers.
    var seed: Int64 { Int64(bitPattern: Fingerprint(id.utf8).value) & 0x7fff_ffff }
}
