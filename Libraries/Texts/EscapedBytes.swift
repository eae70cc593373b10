extension String {
    /// Bytes that are no UTF-8, for people: those of ASCII as they are, the others as in `caf\xE9.js`.
    public init(escaping bytes: some Sequence<UInt8>) {
        self = bytes.reduce(into: "") { text, byte in
            if (0x20..<0x7F).contains(byte) {
                text.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                text += "\\x" + (digits.utf8.count == 1 ? "0" : "") + digits
            }
        }
    }
}
