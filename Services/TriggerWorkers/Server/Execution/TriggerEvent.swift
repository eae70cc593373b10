import DocumentModel

/// Something that a trigger's function is run for.
struct TriggerEvent: Sendable {
    /// The same at every delivery.
    let id: String
    /// The function's argument.
    let argument: Document
    /// Milliseconds since 1970: where the run's clock stands.
    let time: Int64

    /// Seeds the run's random numbers: FNV-1a of the id.
    var seed: Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in id.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int64(bitPattern: hash) & 0x7fff_ffff
    }
}
