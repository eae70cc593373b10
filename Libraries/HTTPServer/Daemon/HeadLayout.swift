import Cmicrohttpd

/// Detects malformed heads that libmicrohttpd 0.9.75 accepts silently: a NUL that truncates a target or a value, a field without a
/// name (which ends the head, so that the rest becomes a second request), folded lines (whose text it appends to the name), and
/// bare line feeds. A proxy in front may interpret any of them differently.
///
/// libmicrohttpd parses a head in place and overwrites each separator with NUL, so the parts of a well-formed head are exactly one,
/// two or four bytes apart. Later versions refuse such heads themselves and may have a different memory layout, so only that
/// version is checked.
struct HeadLayout {
    private static let isApplied = MHD_get_version().map { String(cString: $0) } == "0.9.75"

    private let start: UInt
    /// The address at which the next field must begin.
    private var next: UInt
    private(set) var isProper: Bool

    /// - Parameters:
    ///   - target: the address at which the request's target began, and its length up to the first NUL.
    init(
        method: UnsafePointer<CChar>, methodCount: Int, target: (address: UInt, count: Int),
        version: UnsafePointer<CChar>
    ) {
        start = UInt(bitPattern: method)
        let versionStart = UInt(bitPattern: version)
        isProper =
            target.address == start + UInt(methodCount) + 1 && versionStart == target.address + UInt(target.count) + 1
        next = versionStart + UInt("HTTP/1.1".utf8.count) + 2
        if !Self.isApplied { isProper = true }
    }

    mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        guard isProper, Self.isApplied else { return }
        guard let nameStart = name.baseAddress, let valueStart = value.baseAddress, UInt(bitPattern: nameStart) == next
        else {
            isProper = false
            return
        }
        let gap = UnsafeRawBufferPointer(start: nameStart + name.count, count: valueStart - (nameStart + name.count))
        isProper = gap.dropFirst().allSatisfy { $0 == 0x20 || $0 == 0x09 }
        next = UInt(bitPattern: valueStart) + UInt(value.count) + 2
    }

    /// Whether the head ends with one empty line after the last field.
    func ends(at size: Int) -> Bool { isProper && (!Self.isApplied || next + 2 == start + UInt(size)) }
}
