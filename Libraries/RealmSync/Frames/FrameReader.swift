/// Reads the parts of a message: words and numbers that are separated by one space, and counted bytes.
struct FrameReader {
    private let bytes: ArraySlice<UInt8>
    private(set) var position: Int
    /// The number of an error in what is read.
    let code: RealmErrorCode

    /// No word or number is longer.
    private static let longestWord = 32

    init(_ bytes: ArraySlice<UInt8>, code: RealmErrorCode = .badSyntax) {
        self.bytes = bytes
        self.code = code
        position = bytes.startIndex
    }

    var isAtEnd: Bool { position == bytes.endIndex }
    private var offset: Int { position - bytes.startIndex }

    func fault(_ message: String, _ code: RealmErrorCode? = nil, isTooLarge: Bool = false) -> FrameError {
        FrameError(code ?? self.code, at: offset, message, isTooLarge: isTooLarge)
    }

    /// The bytes up to a separator, which follows them.
    mutating func word(before separator: Unicode.Scalar) throws(FrameError) -> ArraySlice<UInt8> {
        let separator = UInt8(ascii: separator)
        guard let end = bytes[position...].prefix(Self.longestWord + 1).firstIndex(of: separator), end > position else {
            throw fault("a word or number is missing, or too long")
        }
        defer { position = end + 1 }
        return bytes[position..<end]
    }

    /// A decimal number below 2⁶³.
    mutating func number(before separator: Unicode.Scalar) throws(FrameError) -> UInt64 {
        let start = self
        var number: Int64 = 0
        for digit in try word(before: separator) {
            let (tens, isTooLarge) = number.multipliedReportingOverflow(by: 10)
            let (sum, isSumTooLarge) = tens.addingReportingOverflow(Int64(digit) - 0x30)
            guard (0x30...0x39).contains(digit), !isTooLarge, !isSumTooLarge else {
                throw start.fault("no number below 2⁶³")
            }
            number = sum
        }
        return UInt64(number)
    }

    mutating func flag(before separator: Unicode.Scalar) throws(FrameError) -> Bool {
        let start = self
        let number = try number(before: separator)
        guard number <= 1 else { throw start.fault("a flag is neither 0 nor 1") }
        return number == 1
    }

    /// A session's number: positive.
    mutating func session(before separator: Unicode.Scalar) throws(FrameError) -> UInt64 {
        let start = self
        let number = try number(before: separator)
        guard number > 0 else { throw start.fault("a session's number is 0", .badSessionIdent) }
        return number
    }

    mutating func counted(_ count: UInt64) throws(FrameError) -> ArraySlice<UInt8> {
        guard count <= UInt64(bytes.endIndex - position) else { throw fault("it ends before its size") }
        defer { position += Int(count) }
        return bytes[position..<position + Int(count)]
    }

    func end() throws(FrameError) {
        guard isAtEnd else { throw fault("it goes on after its end") }
    }
}
