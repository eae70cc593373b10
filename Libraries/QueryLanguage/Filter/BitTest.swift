import DocumentModel

/// `$bitsAllSet`, `$bitsAllClear`, `$bitsAnySet`, `$bitsAnyClear`.
public struct BitTest: Sendable {
    /// Which bits have to be set or clear.
    public enum Quantifier: String, Sendable {
        case allSet = "$bitsAllSet"
        case allClear = "$bitsAllClear"
        case anySet = "$bitsAnySet"
        case anyClear = "$bitsAnyClear"
    }

    /// Which bits have to be set or clear.
    public let quantifier: Quantifier
    /// The positions that are tested, from 0 for the lowest bit.
    public let positions: [Int]

    init(_ quantifier: Quantifier, _ operand: Value) throws(QueryError) {
        self.quantifier = quantifier
        switch operand {
        case .array(let elements):
            var positions: [Int] = []
            for element in elements {
                guard let position = element.int64Value, position >= 0, position <= Int64(Int32.max) else {
                    throw .badValue("Failed to parse bit position. Expected a non-negative integer in: \(operand)")
                }
                positions.append(Int(position))
            }
            self.positions = positions
        case .binary(let binary):
            positions = (0..<binary.bytes.count * 8).filter { binary.bytes[$0 / 8] >> ($0 % 8) & 1 == 1 }
        default:
            guard let mask = operand.int64Value, mask >= 0 else {
                throw QueryError(
                    code: 9,
                    message: "\(quantifier.rawValue) takes an Array, a number, or a BinData but received: \(operand)")
            }
            positions = (0..<64).filter { mask >> $0 & 1 == 1 }
        }
    }

    func matches(_ value: Value) -> Bool {
        switch value {
        case .binary(let binary):
            return check { $0 / 8 < binary.bytes.count && binary.bytes[$0 / 8] >> ($0 % 8) & 1 == 1 }
        // As in MongoDB, a decimal is rounded to the nearest integer; one that doesn't fit becomes the lowest.
        case .decimal128(let number):
            let integer = number.rounded(toPlace: 0, .toNearestOrEven).int64Value ?? .min
            return check { integer >> min($0, 63) & 1 == 1 }
        case .int32, .int64, .double:
            guard let number = value.int64Value else { return false }
            // All bits beyond the sign bit equal the sign bit.
            return check { number >> min($0, 63) & 1 == 1 }
        default: return false
        }
    }

    private func check(_ isSet: (Int) -> Bool) -> Bool {
        switch quantifier {
        case .allSet: positions.allSatisfy(isSet)
        case .allClear: !positions.contains(where: isSet)
        case .anySet: positions.contains(where: isSet)
        case .anyClear: positions.contains { !isSet($0) }
        }
    }
}
