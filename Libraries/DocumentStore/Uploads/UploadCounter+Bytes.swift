import DocumentModel
import SyncEngine

/// The column `recent` of `partita.uploads`: entries of digest (8 bytes), epoch (4) and number (8), big-endian, newest last.
extension UploadCounter {
    private static let entrySize = 20

    init(lastVersion: Int64, recent bytes: [UInt8], isClosed: Bool) {
        var recent: [Entry] = []
        for start in stride(from: 0, to: bytes.count - bytes.count % Self.entrySize, by: Self.entrySize) {
            func number(_ range: Range<Int>) -> UInt64 {
                bytes[(start + range.lowerBound)..<(start + range.upperBound)].reduce(0) { $0 << 8 | UInt64($1) }
            }
            recent.append(
                Entry(
                    digest: number(0..<8),
                    revision: Revision(
                        epoch: Int32(truncatingIfNeeded: number(8..<12)),
                        number: Int64(truncatingIfNeeded: number(12..<20)))))
        }
        self.init(lastVersion: lastVersion, recent: recent, isClosed: isClosed)
    }

    /// The bytes of the entries that are kept when entries are added.
    var stayingBytes: [UInt8] {
        var bytes: [UInt8] = []
        for entry in staying {
            bytes.appendBigEndian(entry.digest)
            bytes.appendBigEndian(entry.revision.epoch)
            bytes.appendBigEndian(entry.revision.number)
        }
        return bytes
    }
}

extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
