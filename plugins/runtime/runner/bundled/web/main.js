// biome-ignore-all lint: built from its sources
// biome-ignore-all format: built from its sources
// biome-ignore-all assist: built from its sources
/* Contains whatwg-url.

The MIT License (MIT)

Copyright (c) Sebastian Mayr

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/
;(function (module) {
"use strict";
var __create = Object.create;
var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __getProtoOf = Object.getPrototypeOf;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __esm = (fn, res, err) => function __init() {
  if (err) throw err[0];
  try {
    return fn && (res = (0, fn[__getOwnPropNames(fn)[0]])(fn = 0)), res;
  } catch (e) {
    throw err = [e], e;
  }
};
var __commonJS = (cb, mod) => function __require() {
  try {
    return mod || (0, cb[__getOwnPropNames(cb)[0]])((mod = { exports: {} }).exports, mod), mod.exports;
  } catch (e) {
    throw mod = 0, e;
  }
};
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toESM = (mod, isNodeMode, target) => (target = mod != null ? __create(__getProtoOf(mod)) : {}, __copyProps(
  // If the importer is in node compatibility mode or this is not an ESM
  // file that has been converted to a CommonJS file using a Babel-
  // compatible transform (i.e. "__esModule" has not been set), then set
  // "default" to the CommonJS "module.exports" for node compatibility.
  isNodeMode || !mod || !mod.__esModule ? __defProp(target, "default", { value: mod, enumerable: true }) : target,
  mod
));
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// web/dom-exception.ts
var DOMException;
var init_dom_exception = __esm({
  "web/dom-exception.ts"() {
    "use strict";
    DOMException = class extends Error {
      constructor(message = "", name = "Error") {
        super(message);
        Reflect.defineProperty(this, "name", { value: String(name), configurable: true });
      }
    };
  }
});

// web/text.ts
function bytesOf(given) {
  if (given === void 0) return new Bytes(0);
  if (isView2(given)) return new Bytes(given.buffer, given.byteOffset, given.byteLength);
  if (given instanceof Buffer3) return new Bytes(given);
  throw new TypeError("Bytes must be an ArrayBuffer or a view of one.");
}
function pointAt(bytes, start) {
  let at = start;
  const first = bytes[at++];
  if (first < 128) return { point: first, next: at };
  let needed = first >= 194 && first <= 223 ? 1 : first >= 224 && first <= 239 ? 2 : first >= 240 && first <= 244 ? 3 : -1;
  let point = first & 63 >> needed;
  let low = first === 224 ? 160 : first === 240 ? 144 : 128;
  let high = first === 237 ? 159 : first === 244 ? 143 : 191;
  for (; needed > 0 && bytes[at] >= low && bytes[at] <= high; needed--) {
    point = point << 6 | bytes[at++] & 63;
    low = 128;
    high = 191;
  }
  return { point: needed === 0 ? point : -1, next: at };
}
function btoa(given) {
  const text = `${given}`;
  let result = "";
  for (let at = 0; at < text.length; at += 3) {
    const [a, b, c] = [text.charCodeAt(at), text.charCodeAt(at + 1), text.charCodeAt(at + 2)];
    if (a > 255 || b > 255 || c > 255)
      throw badCharacter("btoa supports only characters below U+0100; encode others with TextEncoder first.");
    const left = text.length - at;
    result += letter(a >> 2) + letter((a & 3) << 4 | b >> 4);
    result += (left > 1 ? letter((b & 15) << 2 | c >> 6) : "=") + (left > 2 ? letter(c & 63) : "=");
  }
  return result;
}
function atob(given) {
  let text = `${given}`.replace(/[\t\n\f\r ]/g, "");
  if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
  if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw badCharacter("This is not valid base64.");
  let result = "";
  let bits = 0;
  let buffered = 0;
  for (let at = 0; at < text.length; at++) {
    buffered = (buffered << 6 | LETTERS.indexOf(text[at])) & 65535;
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      result += fromCharCode(buffered >> bits & 255);
    }
  }
  return result;
}
var apply3, fromCharCode, Bytes, Buffer3, isView2, UNITS_AT_ONCE, isLow, TextEncoder, TextDecoder, LETTERS, badCharacter, letter;
var init_text = __esm({
  "web/text.ts"() {
    "use strict";
    init_dom_exception();
    ({ apply: apply3 } = Reflect);
    ({ fromCharCode } = String);
    Bytes = Uint8Array;
    Buffer3 = ArrayBuffer;
    ({ isView: isView2 } = ArrayBuffer);
    UNITS_AT_ONCE = 4e3;
    isLow = (unit) => unit >= 56320 && unit < 57344;
    TextEncoder = class {
      get encoding() {
        return "utf-8";
      }
      encode(given = "") {
        const text = `${given}`;
        let length = 0;
        for (let at = 0; at < text.length; at++) {
          const unit = text.charCodeAt(at);
          length += unit < 128 ? 1 : unit < 2048 ? 2 : 3;
          if (unit >= 55296 && unit < 56320 && isLow(text.charCodeAt(at + 1))) {
            length += 1;
            at += 1;
          }
        }
        const bytes = new Bytes(length);
        this.encodeInto(text, bytes);
        return bytes;
      }
      encodeInto(given, bytes) {
        const text = `${given}`;
        let read = 0;
        let written = 0;
        while (read < text.length) {
          let point = text.charCodeAt(read);
          let units = 1;
          if (point >= 55296 && point < 57344) {
            const low = text.charCodeAt(read + 1);
            if (point < 56320 && isLow(low)) {
              point = 65536 + (point - 55296 << 10) + (low - 56320);
              units = 2;
            } else point = 65533;
          }
          const size = point < 128 ? 1 : point < 2048 ? 2 : point < 65536 ? 3 : 4;
          if (written + size > bytes.length) break;
          if (size === 1) bytes[written] = point;
          else {
            for (let more = size - 1, rest = point; more > 0; more--, rest >>= 6) bytes[written + more] = 128 | rest & 63;
            bytes[written] = 3840 >> size & 255 | point >> 6 * (size - 1);
          }
          written += size;
          read += units;
        }
        return { read, written };
      }
    };
    TextDecoder = class {
      #fatal;
      #ignoreBOM;
      constructor(label = "utf-8", options = {}) {
        if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(`${label}`)) throw new RangeError(`Only utf-8 can be decoded, not ${label}.`);
        this.#fatal = Boolean(options?.fatal);
        this.#ignoreBOM = Boolean(options?.ignoreBOM);
      }
      get encoding() {
        return "utf-8";
      }
      get fatal() {
        return this.#fatal;
      }
      get ignoreBOM() {
        return this.#ignoreBOM;
      }
      decode(given) {
        const bytes = bytesOf(given);
        let at = !this.#ignoreBOM && bytes[0] === 239 && bytes[1] === 187 && bytes[2] === 191 ? 3 : 0;
        let text = "";
        let units = [];
        while (at < bytes.length) {
          const { point, next } = pointAt(bytes, at);
          if (point < 0 && this.#fatal) throw new TypeError("These bytes are not valid utf-8.");
          at = next;
          if (point > 65535) units.push(55296 + (point - 65536 >> 10), 56320 + (point & 1023));
          else units.push(point < 0 ? 65533 : point);
          if (units.length > UNITS_AT_ONCE) {
            text += apply3(fromCharCode, void 0, units);
            units = [];
          }
        }
        return text + apply3(fromCharCode, void 0, units);
      }
    };
    LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    badCharacter = (what) => new DOMException(what, "InvalidCharacterError");
    letter = (digit) => LETTERS[digit];
  }
});

// web/host-name.ts
function toASCII(domain) {
  if (/^[\0-\x7f]*$/.test(domain)) return domain.toLowerCase();
  if (domain.includes("�") || domain.length > DOMAIN_LENGTH_MAX) return null;
  const mapped = [...domain.replace(/\u00ad|\u200b|\u2060|\ufeff|[\ufe00-\ufe0f]/g, "").normalize("NFKC")].map((char) => char.toLowerCase()).join("").normalize("NFKC");
  const labels = mapped.split(/[.\u3002]/);
  if (labels.some((label) => label.startsWith("xn--") && /[^\0-\x7f]/.test(label))) return null;
  return labels.map((label) => /[^\0-\x7f]/.test(label) ? `xn--${punycode(label)}` : label).join(".");
}
function punycode(label) {
  const points = [...label.toWellFormed()].map((char) => char.codePointAt(0));
  const basic = points.filter((point) => point < 128);
  let output = String.fromCodePoint(...basic) + (basic.length > 0 ? "-" : "");
  let [n, delta, bias, handled] = [128, 0, 72, basic.length];
  while (handled < points.length) {
    const next = Math.min(...points.filter((point) => point >= n));
    delta += (next - n) * (handled + 1);
    n = next;
    for (const point of points) {
      if (point < n) delta++;
      if (point !== n) continue;
      output += integerOf(delta, bias);
      bias = adapted(delta, handled + 1, handled === basic.length);
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return output;
}
function integerOf(value, bias) {
  let output = "";
  let rest = value;
  for (let k = 36; ; k += 36) {
    const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
    if (rest < t) return output + digitOf(rest);
    output += digitOf(t + (rest - t) % (36 - t));
    rest = Math.floor((rest - t) / (36 - t));
  }
}
function adapted(value, count, isFirst) {
  let delta = Math.floor(value / (isFirst ? 700 : 2));
  delta += Math.floor(delta / count);
  let bias = 0;
  for (; delta > 455; bias += 36) delta = Math.floor(delta / 35);
  return bias + Math.floor(36 * delta / (delta + 38));
}
var DOMAIN_LENGTH_MAX, digitOf;
var init_host_name = __esm({
  "web/host-name.ts"() {
    "use strict";
    DOMAIN_LENGTH_MAX = 2e3;
    digitOf = (value) => String.fromCharCode(value < 26 ? 97 + value : 22 + value);
  }
});

// stand-in:tr46
var tr46_exports = {};
__export(tr46_exports, {
  toASCII: () => toASCII
});
var init_tr46 = __esm({
  "stand-in:tr46"() {
    init_host_name();
  }
});

// ../../../node_modules/whatwg-url/lib/infra.js
var require_infra = __commonJS({
  "../../../node_modules/whatwg-url/lib/infra.js"(exports, module2) {
    "use strict";
    function isASCIIDigit(c) {
      return c >= 48 && c <= 57;
    }
    function isASCIIAlpha(c) {
      return c >= 65 && c <= 90 || c >= 97 && c <= 122;
    }
    function isASCIIAlphanumeric(c) {
      return isASCIIAlpha(c) || isASCIIDigit(c);
    }
    function isASCIIHex(c) {
      return isASCIIDigit(c) || c >= 65 && c <= 70 || c >= 97 && c <= 102;
    }
    module2.exports = {
      isASCIIDigit,
      isASCIIAlpha,
      isASCIIAlphanumeric,
      isASCIIHex
    };
  }
});

// stand-in:./encoding
var encoding_exports = {};
__export(encoding_exports, {
  utf8DecodeWithoutBOM: () => utf8DecodeWithoutBOM,
  utf8Encode: () => utf8Encode
});
var utf8Encode, utf8DecodeWithoutBOM;
var init_encoding = __esm({
  "stand-in:./encoding"() {
    init_text();
    utf8Encode = (given) => new TextEncoder().encode(given);
    utf8DecodeWithoutBOM = (bytes) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }
});

// ../../../node_modules/whatwg-url/lib/percent-encoding.js
var require_percent_encoding = __commonJS({
  "../../../node_modules/whatwg-url/lib/percent-encoding.js"(exports, module2) {
    "use strict";
    var { isASCIIHex } = require_infra();
    var { utf8Encode: utf8Encode2 } = (init_encoding(), __toCommonJS(encoding_exports));
    function p(char) {
      return char.codePointAt(0);
    }
    function percentEncode(c) {
      let hex = c.toString(16).toUpperCase();
      if (hex.length === 1) {
        hex = `0${hex}`;
      }
      return `%${hex}`;
    }
    function percentDecodeBytes(input) {
      const output = new Uint8Array(input.byteLength);
      let outputIndex = 0;
      for (let i = 0; i < input.byteLength; ++i) {
        const byte = input[i];
        if (byte !== 37) {
          output[outputIndex++] = byte;
        } else if (byte === 37 && (!isASCIIHex(input[i + 1]) || !isASCIIHex(input[i + 2]))) {
          output[outputIndex++] = byte;
        } else {
          const bytePoint = parseInt(String.fromCodePoint(input[i + 1], input[i + 2]), 16);
          output[outputIndex++] = bytePoint;
          i += 2;
        }
      }
      return output.slice(0, outputIndex);
    }
    function percentDecodeString(input) {
      const bytes = utf8Encode2(input);
      return percentDecodeBytes(bytes);
    }
    function isC0ControlPercentEncode(c) {
      return c <= 31 || c > 126;
    }
    var extraFragmentPercentEncodeSet = /* @__PURE__ */ new Set([p(" "), p('"'), p("<"), p(">"), p("`")]);
    function isFragmentPercentEncode(c) {
      return isC0ControlPercentEncode(c) || extraFragmentPercentEncodeSet.has(c);
    }
    var extraQueryPercentEncodeSet = /* @__PURE__ */ new Set([p(" "), p('"'), p("#"), p("<"), p(">")]);
    function isQueryPercentEncode(c) {
      return isC0ControlPercentEncode(c) || extraQueryPercentEncodeSet.has(c);
    }
    function isSpecialQueryPercentEncode(c) {
      return isQueryPercentEncode(c) || c === p("'");
    }
    var extraPathPercentEncodeSet = /* @__PURE__ */ new Set([p("?"), p("`"), p("{"), p("}"), p("^")]);
    function isPathPercentEncode(c) {
      return isQueryPercentEncode(c) || extraPathPercentEncodeSet.has(c);
    }
    var extraUserinfoPercentEncodeSet = /* @__PURE__ */ new Set([p("/"), p(":"), p(";"), p("="), p("@"), p("["), p("\\"), p("]"), p("|")]);
    function isUserinfoPercentEncode(c) {
      return isPathPercentEncode(c) || extraUserinfoPercentEncodeSet.has(c);
    }
    var extraComponentPercentEncodeSet = /* @__PURE__ */ new Set([p("$"), p("%"), p("&"), p("+"), p(",")]);
    function isComponentPercentEncode(c) {
      return isUserinfoPercentEncode(c) || extraComponentPercentEncodeSet.has(c);
    }
    var extraURLEncodedPercentEncodeSet = /* @__PURE__ */ new Set([p("!"), p("'"), p("("), p(")"), p("~")]);
    function isURLEncodedPercentEncode(c) {
      return isComponentPercentEncode(c) || extraURLEncodedPercentEncodeSet.has(c);
    }
    function utf8PercentEncodeCodePointInternal(codePoint, percentEncodePredicate) {
      const bytes = utf8Encode2(codePoint);
      let output = "";
      for (const byte of bytes) {
        if (!percentEncodePredicate(byte)) {
          output += String.fromCharCode(byte);
        } else {
          output += percentEncode(byte);
        }
      }
      return output;
    }
    function utf8PercentEncodeCodePoint(codePoint, percentEncodePredicate) {
      return utf8PercentEncodeCodePointInternal(String.fromCodePoint(codePoint), percentEncodePredicate);
    }
    function utf8PercentEncodeString(input, percentEncodePredicate, spaceAsPlus = false) {
      let output = "";
      for (const codePoint of input) {
        if (spaceAsPlus && codePoint === " ") {
          output += "+";
        } else {
          output += utf8PercentEncodeCodePointInternal(codePoint, percentEncodePredicate);
        }
      }
      return output;
    }
    module2.exports = {
      isC0ControlPercentEncode,
      isFragmentPercentEncode,
      isQueryPercentEncode,
      isSpecialQueryPercentEncode,
      isPathPercentEncode,
      isUserinfoPercentEncode,
      isURLEncodedPercentEncode,
      percentDecodeString,
      percentDecodeBytes,
      utf8PercentEncodeString,
      utf8PercentEncodeCodePoint
    };
  }
});

// ../../../node_modules/whatwg-url/lib/url-state-machine.js
var require_url_state_machine = __commonJS({
  "../../../node_modules/whatwg-url/lib/url-state-machine.js"(exports, module2) {
    "use strict";
    var tr46 = (init_tr46(), __toCommonJS(tr46_exports));
    var infra = require_infra();
    var { utf8DecodeWithoutBOM: utf8DecodeWithoutBOM2 } = (init_encoding(), __toCommonJS(encoding_exports));
    var {
      percentDecodeString,
      utf8PercentEncodeCodePoint,
      utf8PercentEncodeString,
      isC0ControlPercentEncode,
      isFragmentPercentEncode,
      isQueryPercentEncode,
      isSpecialQueryPercentEncode,
      isPathPercentEncode,
      isUserinfoPercentEncode
    } = require_percent_encoding();
    function p(char) {
      return char.codePointAt(0);
    }
    var specialSchemes = {
      ftp: 21,
      file: null,
      http: 80,
      https: 443,
      ws: 80,
      wss: 443
    };
    var failure = /* @__PURE__ */ Symbol("failure");
    function countSymbols(str) {
      return [...str].length;
    }
    function at(input, idx) {
      const c = input[idx];
      return isNaN(c) ? void 0 : String.fromCodePoint(c);
    }
    function isSingleDot(buffer) {
      return buffer === "." || buffer.toLowerCase() === "%2e";
    }
    function isDoubleDot(buffer) {
      buffer = buffer.toLowerCase();
      return buffer === ".." || buffer === "%2e." || buffer === ".%2e" || buffer === "%2e%2e";
    }
    function isWindowsDriveLetterCodePoints(cp1, cp2) {
      return infra.isASCIIAlpha(cp1) && (cp2 === p(":") || cp2 === p("|"));
    }
    function isWindowsDriveLetterString(string) {
      return string.length === 2 && infra.isASCIIAlpha(string.codePointAt(0)) && (string[1] === ":" || string[1] === "|");
    }
    function isNormalizedWindowsDriveLetterString(string) {
      return string.length === 2 && infra.isASCIIAlpha(string.codePointAt(0)) && string[1] === ":";
    }
    function containsForbiddenHostCodePoint(string) {
      return string.search(/\u0000|\u0009|\u000A|\u000D|\u0020|#|\/|:|<|>|\?|@|\[|\\|\]|\^|\|/u) !== -1;
    }
    function containsForbiddenDomainCodePoint(string) {
      return containsForbiddenHostCodePoint(string) || string.search(/[\u0000-\u001F]|%|\u007F/u) !== -1;
    }
    function isSpecialScheme(scheme) {
      return specialSchemes[scheme] !== void 0;
    }
    function isSpecial(url) {
      return isSpecialScheme(url.scheme);
    }
    function isNotSpecial(url) {
      return !isSpecialScheme(url.scheme);
    }
    function defaultPort(scheme) {
      return specialSchemes[scheme];
    }
    function parseIPv4Number(input) {
      if (input === "") {
        return failure;
      }
      let R = 10;
      if (input.length >= 2 && input.charAt(0) === "0" && input.charAt(1).toLowerCase() === "x") {
        input = input.substring(2);
        R = 16;
      } else if (input.length >= 2 && input.charAt(0) === "0") {
        input = input.substring(1);
        R = 8;
      }
      if (input === "") {
        return 0;
      }
      let regex = /[^0-7]/u;
      if (R === 10) {
        regex = /[^0-9]/u;
      }
      if (R === 16) {
        regex = /[^0-9A-Fa-f]/u;
      }
      if (regex.test(input)) {
        return failure;
      }
      return parseInt(input, R);
    }
    function parseIPv4(input) {
      const parts = input.split(".");
      if (parts[parts.length - 1] === "") {
        if (parts.length > 1) {
          parts.pop();
        }
      }
      if (parts.length > 4) {
        return failure;
      }
      const numbers = [];
      for (const part of parts) {
        const n = parseIPv4Number(part);
        if (n === failure) {
          return failure;
        }
        numbers.push(n);
      }
      for (let i = 0; i < numbers.length - 1; ++i) {
        if (numbers[i] > 255) {
          return failure;
        }
      }
      if (numbers[numbers.length - 1] >= 256 ** (5 - numbers.length)) {
        return failure;
      }
      let ipv4 = numbers.pop();
      let counter = 0;
      for (const n of numbers) {
        ipv4 += n * 256 ** (3 - counter);
        ++counter;
      }
      return ipv4;
    }
    function serializeIPv4(address) {
      let output = "";
      let n = address;
      for (let i = 1; i <= 4; ++i) {
        output = String(n % 256) + output;
        if (i !== 4) {
          output = `.${output}`;
        }
        n = Math.floor(n / 256);
      }
      return output;
    }
    function parseIPv6(input) {
      const address = [0, 0, 0, 0, 0, 0, 0, 0];
      let pieceIndex = 0;
      let compress = null;
      let pointer = 0;
      input = Array.from(input, (c) => c.codePointAt(0));
      if (input[pointer] === p(":")) {
        if (input[pointer + 1] !== p(":")) {
          return failure;
        }
        pointer += 2;
        ++pieceIndex;
        compress = pieceIndex;
      }
      while (pointer < input.length) {
        if (pieceIndex === 8) {
          return failure;
        }
        if (input[pointer] === p(":")) {
          if (compress !== null) {
            return failure;
          }
          ++pointer;
          ++pieceIndex;
          compress = pieceIndex;
          continue;
        }
        let value = 0;
        let length = 0;
        while (length < 4 && infra.isASCIIHex(input[pointer])) {
          value = value * 16 + parseInt(at(input, pointer), 16);
          ++pointer;
          ++length;
        }
        if (input[pointer] === p(".")) {
          if (length === 0) {
            return failure;
          }
          pointer -= length;
          if (pieceIndex > 6) {
            return failure;
          }
          let numbersSeen = 0;
          while (input[pointer] !== void 0) {
            let ipv4Piece = null;
            if (numbersSeen > 0) {
              if (input[pointer] === p(".") && numbersSeen < 4) {
                ++pointer;
              } else {
                return failure;
              }
            }
            if (!infra.isASCIIDigit(input[pointer])) {
              return failure;
            }
            while (infra.isASCIIDigit(input[pointer])) {
              const number = parseInt(at(input, pointer));
              if (ipv4Piece === null) {
                ipv4Piece = number;
              } else if (ipv4Piece === 0) {
                return failure;
              } else {
                ipv4Piece = ipv4Piece * 10 + number;
              }
              if (ipv4Piece > 255) {
                return failure;
              }
              ++pointer;
            }
            address[pieceIndex] = address[pieceIndex] * 256 + ipv4Piece;
            ++numbersSeen;
            if (numbersSeen === 2 || numbersSeen === 4) {
              ++pieceIndex;
            }
          }
          if (numbersSeen !== 4) {
            return failure;
          }
          break;
        } else if (input[pointer] === p(":")) {
          ++pointer;
          if (input[pointer] === void 0) {
            return failure;
          }
        } else if (input[pointer] !== void 0) {
          return failure;
        }
        address[pieceIndex] = value;
        ++pieceIndex;
      }
      if (compress !== null) {
        let swaps = pieceIndex - compress;
        pieceIndex = 7;
        while (pieceIndex !== 0 && swaps > 0) {
          const temp = address[compress + swaps - 1];
          address[compress + swaps - 1] = address[pieceIndex];
          address[pieceIndex] = temp;
          --pieceIndex;
          --swaps;
        }
      } else if (compress === null && pieceIndex !== 8) {
        return failure;
      }
      return address;
    }
    function serializeIPv6(address) {
      let output = "";
      const compress = findTheIPv6AddressCompressedPieceIndex(address);
      let ignore0 = false;
      for (let pieceIndex = 0; pieceIndex <= 7; ++pieceIndex) {
        if (ignore0 && address[pieceIndex] === 0) {
          continue;
        } else if (ignore0) {
          ignore0 = false;
        }
        if (compress === pieceIndex) {
          const separator = pieceIndex === 0 ? "::" : ":";
          output += separator;
          ignore0 = true;
          continue;
        }
        output += address[pieceIndex].toString(16);
        if (pieceIndex !== 7) {
          output += ":";
        }
      }
      return output;
    }
    function parseHost(input, isOpaque = false) {
      if (input[0] === "[") {
        if (input[input.length - 1] !== "]") {
          return failure;
        }
        return parseIPv6(input.substring(1, input.length - 1));
      }
      if (isOpaque) {
        return parseOpaqueHost(input);
      }
      const domain = utf8DecodeWithoutBOM2(percentDecodeString(input));
      const asciiDomain = domainToASCII(domain);
      if (asciiDomain === failure) {
        return failure;
      }
      if (endsInANumber(asciiDomain)) {
        return parseIPv4(asciiDomain);
      }
      return asciiDomain;
    }
    function endsInANumber(input) {
      const parts = input.split(".");
      if (parts[parts.length - 1] === "") {
        if (parts.length === 1) {
          return false;
        }
        parts.pop();
      }
      const last = parts[parts.length - 1];
      if (parseIPv4Number(last) !== failure) {
        return true;
      }
      if (/^[0-9]+$/u.test(last)) {
        return true;
      }
      return false;
    }
    function parseOpaqueHost(input) {
      if (containsForbiddenHostCodePoint(input)) {
        return failure;
      }
      return utf8PercentEncodeString(input, isC0ControlPercentEncode);
    }
    function findTheIPv6AddressCompressedPieceIndex(address) {
      let longestIndex = null;
      let longestSize = 1;
      let foundIndex = null;
      let foundSize = 0;
      for (let pieceIndex = 0; pieceIndex < address.length; ++pieceIndex) {
        if (address[pieceIndex] !== 0) {
          if (foundSize > longestSize) {
            longestIndex = foundIndex;
            longestSize = foundSize;
          }
          foundIndex = null;
          foundSize = 0;
        } else {
          if (foundIndex === null) {
            foundIndex = pieceIndex;
          }
          ++foundSize;
        }
      }
      if (foundSize > longestSize) {
        return foundIndex;
      }
      return longestIndex;
    }
    function serializeHost(host) {
      if (typeof host === "number") {
        return serializeIPv4(host);
      }
      if (host instanceof Array) {
        return `[${serializeIPv6(host)}]`;
      }
      return host;
    }
    function domainToASCII(domain, beStrict = false) {
      const result = tr46.toASCII(domain, {
        checkHyphens: beStrict,
        checkBidi: true,
        checkJoiners: true,
        useSTD3ASCIIRules: beStrict,
        transitionalProcessing: false,
        verifyDNSLength: beStrict,
        ignoreInvalidPunycode: false
      });
      if (result === null) {
        return failure;
      }
      if (!beStrict) {
        if (result === "") {
          return failure;
        }
        if (containsForbiddenDomainCodePoint(result)) {
          return failure;
        }
      }
      return result;
    }
    function trimControlChars(string) {
      let start = 0;
      let end = string.length;
      for (; start < end; ++start) {
        if (string.charCodeAt(start) > 32) {
          break;
        }
      }
      for (; end > start; --end) {
        if (string.charCodeAt(end - 1) > 32) {
          break;
        }
      }
      return string.substring(start, end);
    }
    function trimTabAndNewline(url) {
      return url.replace(/\u0009|\u000A|\u000D/ug, "");
    }
    function shortenPath(url) {
      const { path } = url;
      if (path.length === 0) {
        return;
      }
      if (url.scheme === "file" && path.length === 1 && isNormalizedWindowsDriveLetter(path[0])) {
        return;
      }
      path.pop();
    }
    function includesCredentials(url) {
      return url.username !== "" || url.password !== "";
    }
    function cannotHaveAUsernamePasswordPort(url) {
      return url.host === null || url.host === "" || url.scheme === "file";
    }
    function hasAnOpaquePath(url) {
      return typeof url.path === "string";
    }
    function isNormalizedWindowsDriveLetter(string) {
      return /^[A-Za-z]:$/u.test(string);
    }
    function URLStateMachine(input, base, encodingOverride, url, stateOverride) {
      this.pointer = 0;
      this.input = input;
      this.base = base || null;
      this.encodingOverride = encodingOverride || "utf-8";
      this.stateOverride = stateOverride;
      this.url = url;
      this.failure = false;
      this.parseError = false;
      if (!this.url) {
        this.url = {
          scheme: "",
          username: "",
          password: "",
          host: null,
          port: null,
          path: [],
          query: null,
          fragment: null
        };
        const res2 = trimControlChars(this.input);
        if (res2 !== this.input) {
          this.parseError = true;
        }
        this.input = res2;
      }
      const res = trimTabAndNewline(this.input);
      if (res !== this.input) {
        this.parseError = true;
      }
      this.input = res;
      this.state = stateOverride || "scheme start";
      this.buffer = "";
      this.atSignSeen = false;
      this.insideBrackets = false;
      this.passwordTokenSeen = false;
      this.input = Array.from(this.input, (c) => c.codePointAt(0));
      for (; this.pointer <= this.input.length; ++this.pointer) {
        const c = this.input[this.pointer];
        const cStr = isNaN(c) ? void 0 : String.fromCodePoint(c);
        const ret = this[`parse ${this.state}`](c, cStr);
        if (!ret) {
          break;
        } else if (ret === failure) {
          this.failure = true;
          break;
        }
      }
    }
    URLStateMachine.prototype["parse scheme start"] = function parseSchemeStart(c, cStr) {
      if (infra.isASCIIAlpha(c)) {
        this.buffer += cStr.toLowerCase();
        this.state = "scheme";
      } else if (!this.stateOverride) {
        this.state = "no scheme";
        --this.pointer;
      } else {
        this.parseError = true;
        return failure;
      }
      return true;
    };
    URLStateMachine.prototype["parse scheme"] = function parseScheme(c, cStr) {
      if (infra.isASCIIAlphanumeric(c) || c === p("+") || c === p("-") || c === p(".")) {
        this.buffer += cStr.toLowerCase();
      } else if (c === p(":")) {
        if (this.stateOverride) {
          if (isSpecial(this.url) && !isSpecialScheme(this.buffer)) {
            return false;
          }
          if (!isSpecial(this.url) && isSpecialScheme(this.buffer)) {
            return false;
          }
          if ((includesCredentials(this.url) || this.url.port !== null) && this.buffer === "file") {
            return false;
          }
          if (this.url.scheme === "file" && this.url.host === "") {
            return false;
          }
        }
        this.url.scheme = this.buffer;
        if (this.stateOverride) {
          if (this.url.port === defaultPort(this.url.scheme)) {
            this.url.port = null;
          }
          return false;
        }
        this.buffer = "";
        if (this.url.scheme === "file") {
          if (this.input[this.pointer + 1] !== p("/") || this.input[this.pointer + 2] !== p("/")) {
            this.parseError = true;
          }
          this.state = "file";
        } else if (isSpecial(this.url) && this.base !== null && this.base.scheme === this.url.scheme) {
          this.state = "special relative or authority";
        } else if (isSpecial(this.url)) {
          this.state = "special authority slashes";
        } else if (this.input[this.pointer + 1] === p("/")) {
          this.state = "path or authority";
          ++this.pointer;
        } else {
          this.url.path = "";
          this.state = "opaque path";
        }
      } else if (!this.stateOverride) {
        this.buffer = "";
        this.state = "no scheme";
        this.pointer = -1;
      } else {
        this.parseError = true;
        return failure;
      }
      return true;
    };
    URLStateMachine.prototype["parse no scheme"] = function parseNoScheme(c) {
      if (this.base === null || hasAnOpaquePath(this.base) && c !== p("#")) {
        return failure;
      } else if (hasAnOpaquePath(this.base) && c === p("#")) {
        this.url.scheme = this.base.scheme;
        this.url.path = this.base.path;
        this.url.query = this.base.query;
        this.url.fragment = "";
        this.state = "fragment";
      } else if (this.base.scheme === "file") {
        this.state = "file";
        --this.pointer;
      } else {
        this.state = "relative";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse special relative or authority"] = function parseSpecialRelativeOrAuthority(c) {
      if (c === p("/") && this.input[this.pointer + 1] === p("/")) {
        this.state = "special authority ignore slashes";
        ++this.pointer;
      } else {
        this.parseError = true;
        this.state = "relative";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse path or authority"] = function parsePathOrAuthority(c) {
      if (c === p("/")) {
        this.state = "authority";
      } else {
        this.state = "path";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse relative"] = function parseRelative(c) {
      this.url.scheme = this.base.scheme;
      if (c === p("/")) {
        this.state = "relative slash";
      } else if (isSpecial(this.url) && c === p("\\")) {
        this.parseError = true;
        this.state = "relative slash";
      } else {
        this.url.username = this.base.username;
        this.url.password = this.base.password;
        this.url.host = this.base.host;
        this.url.port = this.base.port;
        this.url.path = this.base.path.slice();
        this.url.query = this.base.query;
        if (c === p("?")) {
          this.url.query = "";
          this.state = "query";
        } else if (c === p("#")) {
          this.url.fragment = "";
          this.state = "fragment";
        } else if (!isNaN(c)) {
          this.url.query = null;
          this.url.path.pop();
          this.state = "path";
          --this.pointer;
        }
      }
      return true;
    };
    URLStateMachine.prototype["parse relative slash"] = function parseRelativeSlash(c) {
      if (isSpecial(this.url) && (c === p("/") || c === p("\\"))) {
        if (c === p("\\")) {
          this.parseError = true;
        }
        this.state = "special authority ignore slashes";
      } else if (c === p("/")) {
        this.state = "authority";
      } else {
        this.url.username = this.base.username;
        this.url.password = this.base.password;
        this.url.host = this.base.host;
        this.url.port = this.base.port;
        this.state = "path";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse special authority slashes"] = function parseSpecialAuthoritySlashes(c) {
      if (c === p("/") && this.input[this.pointer + 1] === p("/")) {
        this.state = "special authority ignore slashes";
        ++this.pointer;
      } else {
        this.parseError = true;
        this.state = "special authority ignore slashes";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse special authority ignore slashes"] = function parseSpecialAuthorityIgnoreSlashes(c) {
      if (c !== p("/") && c !== p("\\")) {
        this.state = "authority";
        --this.pointer;
      } else {
        this.parseError = true;
      }
      return true;
    };
    URLStateMachine.prototype["parse authority"] = function parseAuthority(c, cStr) {
      if (c === p("@")) {
        this.parseError = true;
        if (this.atSignSeen) {
          this.buffer = `%40${this.buffer}`;
        }
        this.atSignSeen = true;
        const len = countSymbols(this.buffer);
        for (let pointer = 0; pointer < len; ++pointer) {
          const codePoint = this.buffer.codePointAt(pointer);
          if (codePoint === p(":") && !this.passwordTokenSeen) {
            this.passwordTokenSeen = true;
            continue;
          }
          const encodedCodePoints = utf8PercentEncodeCodePoint(codePoint, isUserinfoPercentEncode);
          if (this.passwordTokenSeen) {
            this.url.password += encodedCodePoints;
          } else {
            this.url.username += encodedCodePoints;
          }
        }
        this.buffer = "";
      } else if (isNaN(c) || c === p("/") || c === p("?") || c === p("#") || isSpecial(this.url) && c === p("\\")) {
        if (this.atSignSeen && this.buffer === "") {
          this.parseError = true;
          return failure;
        }
        this.pointer -= countSymbols(this.buffer) + 1;
        this.buffer = "";
        this.state = "host";
      } else {
        this.buffer += cStr;
      }
      return true;
    };
    URLStateMachine.prototype["parse hostname"] = URLStateMachine.prototype["parse host"] = function parseHostName(c, cStr) {
      if (this.stateOverride && this.url.scheme === "file") {
        --this.pointer;
        this.state = "file host";
      } else if (c === p(":") && !this.insideBrackets) {
        if (this.buffer === "") {
          this.parseError = true;
          return failure;
        }
        if (this.stateOverride === "hostname") {
          return failure;
        }
        const host = parseHost(this.buffer, isNotSpecial(this.url));
        if (host === failure) {
          return failure;
        }
        this.url.host = host;
        this.buffer = "";
        this.state = "port";
      } else if (isNaN(c) || c === p("/") || c === p("?") || c === p("#") || isSpecial(this.url) && c === p("\\")) {
        --this.pointer;
        if (isSpecial(this.url) && this.buffer === "") {
          this.parseError = true;
          return failure;
        } else if (this.stateOverride && this.buffer === "" && (includesCredentials(this.url) || this.url.port !== null)) {
          this.parseError = true;
          return failure;
        }
        const host = parseHost(this.buffer, isNotSpecial(this.url));
        if (host === failure) {
          return failure;
        }
        this.url.host = host;
        this.buffer = "";
        this.state = "path start";
        if (this.stateOverride) {
          return false;
        }
      } else {
        if (c === p("[")) {
          this.insideBrackets = true;
        } else if (c === p("]")) {
          this.insideBrackets = false;
        }
        this.buffer += cStr;
      }
      return true;
    };
    URLStateMachine.prototype["parse port"] = function parsePort(c, cStr) {
      if (infra.isASCIIDigit(c)) {
        this.buffer += cStr;
      } else if (isNaN(c) || c === p("/") || c === p("?") || c === p("#") || isSpecial(this.url) && c === p("\\") || this.stateOverride) {
        if (this.buffer !== "") {
          const port = parseInt(this.buffer);
          if (port > 2 ** 16 - 1) {
            this.parseError = true;
            return failure;
          }
          this.url.port = port === defaultPort(this.url.scheme) ? null : port;
          this.buffer = "";
          if (this.stateOverride) {
            return false;
          }
        }
        if (this.stateOverride) {
          return failure;
        }
        this.state = "path start";
        --this.pointer;
      } else {
        this.parseError = true;
        return failure;
      }
      return true;
    };
    var fileOtherwiseCodePoints = /* @__PURE__ */ new Set([p("/"), p("\\"), p("?"), p("#")]);
    function startsWithWindowsDriveLetter(input, pointer) {
      const length = input.length - pointer;
      return length >= 2 && isWindowsDriveLetterCodePoints(input[pointer], input[pointer + 1]) && (length === 2 || fileOtherwiseCodePoints.has(input[pointer + 2]));
    }
    URLStateMachine.prototype["parse file"] = function parseFile(c) {
      this.url.scheme = "file";
      this.url.host = "";
      if (c === p("/") || c === p("\\")) {
        if (c === p("\\")) {
          this.parseError = true;
        }
        this.state = "file slash";
      } else if (this.base !== null && this.base.scheme === "file") {
        this.url.host = this.base.host;
        this.url.path = this.base.path.slice();
        this.url.query = this.base.query;
        if (c === p("?")) {
          this.url.query = "";
          this.state = "query";
        } else if (c === p("#")) {
          this.url.fragment = "";
          this.state = "fragment";
        } else if (!isNaN(c)) {
          this.url.query = null;
          if (!startsWithWindowsDriveLetter(this.input, this.pointer)) {
            shortenPath(this.url);
          } else {
            this.parseError = true;
            this.url.path = [];
          }
          this.state = "path";
          --this.pointer;
        }
      } else {
        this.state = "path";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse file slash"] = function parseFileSlash(c) {
      if (c === p("/") || c === p("\\")) {
        if (c === p("\\")) {
          this.parseError = true;
        }
        this.state = "file host";
      } else {
        if (this.base !== null && this.base.scheme === "file") {
          if (!startsWithWindowsDriveLetter(this.input, this.pointer) && isNormalizedWindowsDriveLetterString(this.base.path[0])) {
            this.url.path.push(this.base.path[0]);
          }
          this.url.host = this.base.host;
        }
        this.state = "path";
        --this.pointer;
      }
      return true;
    };
    URLStateMachine.prototype["parse file host"] = function parseFileHost(c, cStr) {
      if (isNaN(c) || c === p("/") || c === p("\\") || c === p("?") || c === p("#")) {
        --this.pointer;
        if (!this.stateOverride && isWindowsDriveLetterString(this.buffer)) {
          this.parseError = true;
          this.state = "path";
        } else if (this.buffer === "") {
          this.url.host = "";
          if (this.stateOverride) {
            return false;
          }
          this.state = "path start";
        } else {
          let host = parseHost(this.buffer, isNotSpecial(this.url));
          if (host === failure) {
            return failure;
          }
          if (host === "localhost") {
            host = "";
          }
          this.url.host = host;
          if (this.stateOverride) {
            return false;
          }
          this.buffer = "";
          this.state = "path start";
        }
      } else {
        this.buffer += cStr;
      }
      return true;
    };
    URLStateMachine.prototype["parse path start"] = function parsePathStart(c) {
      if (isSpecial(this.url)) {
        if (c === p("\\")) {
          this.parseError = true;
        }
        this.state = "path";
        if (c !== p("/") && c !== p("\\")) {
          --this.pointer;
        }
      } else if (!this.stateOverride && c === p("?")) {
        this.url.query = "";
        this.state = "query";
      } else if (!this.stateOverride && c === p("#")) {
        this.url.fragment = "";
        this.state = "fragment";
      } else if (c !== void 0) {
        this.state = "path";
        if (c !== p("/")) {
          --this.pointer;
        }
      } else if (this.stateOverride && this.url.host === null) {
        this.url.path.push("");
      }
      return true;
    };
    URLStateMachine.prototype["parse path"] = function parsePath(c) {
      if (isNaN(c) || c === p("/") || isSpecial(this.url) && c === p("\\") || !this.stateOverride && (c === p("?") || c === p("#"))) {
        if (isSpecial(this.url) && c === p("\\")) {
          this.parseError = true;
        }
        if (isDoubleDot(this.buffer)) {
          shortenPath(this.url);
          if (c !== p("/") && !(isSpecial(this.url) && c === p("\\"))) {
            this.url.path.push("");
          }
        } else if (isSingleDot(this.buffer) && c !== p("/") && !(isSpecial(this.url) && c === p("\\"))) {
          this.url.path.push("");
        } else if (!isSingleDot(this.buffer)) {
          if (this.url.scheme === "file" && this.url.path.length === 0 && isWindowsDriveLetterString(this.buffer)) {
            this.buffer = `${this.buffer[0]}:`;
          }
          this.url.path.push(this.buffer);
        }
        this.buffer = "";
        if (c === p("?")) {
          this.url.query = "";
          this.state = "query";
        }
        if (c === p("#")) {
          this.url.fragment = "";
          this.state = "fragment";
        }
      } else {
        if (c === p("%") && (!infra.isASCIIHex(this.input[this.pointer + 1]) || !infra.isASCIIHex(this.input[this.pointer + 2]))) {
          this.parseError = true;
        }
        this.buffer += utf8PercentEncodeCodePoint(c, isPathPercentEncode);
      }
      return true;
    };
    URLStateMachine.prototype["parse opaque path"] = function parseOpaquePath(c) {
      if (c === p("?")) {
        this.url.query = "";
        this.state = "query";
      } else if (c === p("#")) {
        this.url.fragment = "";
        this.state = "fragment";
      } else if (c === p(" ")) {
        const remaining = this.input[this.pointer + 1];
        if (remaining === p("?") || remaining === p("#")) {
          this.url.path += "%20";
        } else {
          this.url.path += " ";
        }
      } else {
        if (!isNaN(c) && c !== p("%")) {
          this.parseError = true;
        }
        if (c === p("%") && (!infra.isASCIIHex(this.input[this.pointer + 1]) || !infra.isASCIIHex(this.input[this.pointer + 2]))) {
          this.parseError = true;
        }
        if (!isNaN(c)) {
          this.url.path += utf8PercentEncodeCodePoint(c, isC0ControlPercentEncode);
        }
      }
      return true;
    };
    URLStateMachine.prototype["parse query"] = function parseQuery(c, cStr) {
      if (!isSpecial(this.url) || this.url.scheme === "ws" || this.url.scheme === "wss") {
        this.encodingOverride = "utf-8";
      }
      if (!this.stateOverride && c === p("#") || isNaN(c)) {
        const queryPercentEncodePredicate = isSpecial(this.url) ? isSpecialQueryPercentEncode : isQueryPercentEncode;
        this.url.query += utf8PercentEncodeString(this.buffer, queryPercentEncodePredicate);
        this.buffer = "";
        if (c === p("#")) {
          this.url.fragment = "";
          this.state = "fragment";
        }
      } else if (!isNaN(c)) {
        if (c === p("%") && (!infra.isASCIIHex(this.input[this.pointer + 1]) || !infra.isASCIIHex(this.input[this.pointer + 2]))) {
          this.parseError = true;
        }
        this.buffer += cStr;
      }
      return true;
    };
    URLStateMachine.prototype["parse fragment"] = function parseFragment(c) {
      if (!isNaN(c)) {
        if (c === p("%") && (!infra.isASCIIHex(this.input[this.pointer + 1]) || !infra.isASCIIHex(this.input[this.pointer + 2]))) {
          this.parseError = true;
        }
        this.url.fragment += utf8PercentEncodeCodePoint(c, isFragmentPercentEncode);
      }
      return true;
    };
    function serializeURL(url, excludeFragment) {
      let output = `${url.scheme}:`;
      if (url.host !== null) {
        output += "//";
        if (url.username !== "" || url.password !== "") {
          output += url.username;
          if (url.password !== "") {
            output += `:${url.password}`;
          }
          output += "@";
        }
        output += serializeHost(url.host);
        if (url.port !== null) {
          output += `:${url.port}`;
        }
      }
      if (url.host === null && !hasAnOpaquePath(url) && url.path.length > 1 && url.path[0] === "") {
        output += "/.";
      }
      output += serializePath(url);
      if (url.query !== null) {
        output += `?${url.query}`;
      }
      if (!excludeFragment && url.fragment !== null) {
        output += `#${url.fragment}`;
      }
      return output;
    }
    function serializeOrigin(tuple) {
      let result = `${tuple.scheme}://`;
      result += serializeHost(tuple.host);
      if (tuple.port !== null) {
        result += `:${tuple.port}`;
      }
      return result;
    }
    function serializePath(url) {
      if (hasAnOpaquePath(url)) {
        return url.path;
      }
      let output = "";
      for (const segment of url.path) {
        output += `/${segment}`;
      }
      return output;
    }
    module2.exports.serializeURL = serializeURL;
    module2.exports.serializePath = serializePath;
    module2.exports.serializeURLOrigin = function(url) {
      switch (url.scheme) {
        case "blob": {
          const pathURL = module2.exports.parseURL(serializePath(url));
          if (pathURL === null) {
            return "null";
          }
          if (pathURL.scheme !== "http" && pathURL.scheme !== "https") {
            return "null";
          }
          return module2.exports.serializeURLOrigin(pathURL);
        }
        case "ftp":
        case "http":
        case "https":
        case "ws":
        case "wss":
          return serializeOrigin({
            scheme: url.scheme,
            host: url.host,
            port: url.port
          });
        case "file":
          return "null";
        default:
          return "null";
      }
    };
    module2.exports.basicURLParse = function(input, options) {
      if (options === void 0) {
        options = {};
      }
      const usm = new URLStateMachine(input, options.baseURL, options.encodingOverride, options.url, options.stateOverride);
      if (usm.failure) {
        return null;
      }
      return usm.url;
    };
    module2.exports.setTheUsername = function(url, username) {
      url.username = utf8PercentEncodeString(username, isUserinfoPercentEncode);
    };
    module2.exports.setThePassword = function(url, password) {
      url.password = utf8PercentEncodeString(password, isUserinfoPercentEncode);
    };
    module2.exports.serializeHost = serializeHost;
    module2.exports.cannotHaveAUsernamePasswordPort = cannotHaveAUsernamePasswordPort;
    module2.exports.hasAnOpaquePath = hasAnOpaquePath;
    module2.exports.serializeInteger = function(integer) {
      return String(integer);
    };
    module2.exports.parseURL = function(input, options) {
      if (options === void 0) {
        options = {};
      }
      return module2.exports.basicURLParse(input, { baseURL: options.baseURL, encodingOverride: options.encodingOverride });
    };
  }
});

// ../../../node_modules/whatwg-url/lib/urlencoded.js
var require_urlencoded = __commonJS({
  "../../../node_modules/whatwg-url/lib/urlencoded.js"(exports, module2) {
    "use strict";
    var { utf8Encode: utf8Encode2, utf8DecodeWithoutBOM: utf8DecodeWithoutBOM2 } = (init_encoding(), __toCommonJS(encoding_exports));
    var { percentDecodeBytes, utf8PercentEncodeString, isURLEncodedPercentEncode } = require_percent_encoding();
    function p(char) {
      return char.codePointAt(0);
    }
    function parseUrlencoded(input) {
      const sequences = strictlySplitByteSequence(input, p("&"));
      const output = [];
      for (const bytes of sequences) {
        if (bytes.length === 0) {
          continue;
        }
        let name, value;
        const indexOfEqual = bytes.indexOf(p("="));
        if (indexOfEqual >= 0) {
          name = bytes.slice(0, indexOfEqual);
          value = bytes.slice(indexOfEqual + 1);
        } else {
          name = bytes;
          value = new Uint8Array(0);
        }
        name = replaceByteInByteSequence(name, 43, 32);
        value = replaceByteInByteSequence(value, 43, 32);
        const nameString = utf8DecodeWithoutBOM2(percentDecodeBytes(name));
        const valueString = utf8DecodeWithoutBOM2(percentDecodeBytes(value));
        output.push([nameString, valueString]);
      }
      return output;
    }
    function parseUrlencodedString(input) {
      return parseUrlencoded(utf8Encode2(input));
    }
    function serializeUrlencoded(tuples) {
      let output = "";
      for (const [i, tuple] of tuples.entries()) {
        const name = utf8PercentEncodeString(tuple[0], isURLEncodedPercentEncode, true);
        const value = utf8PercentEncodeString(tuple[1], isURLEncodedPercentEncode, true);
        if (i !== 0) {
          output += "&";
        }
        output += `${name}=${value}`;
      }
      return output;
    }
    function strictlySplitByteSequence(buf, cp) {
      const list = [];
      let last = 0;
      let i = buf.indexOf(cp);
      while (i >= 0) {
        list.push(buf.slice(last, i));
        last = i + 1;
        i = buf.indexOf(cp, last);
      }
      if (last !== buf.length) {
        list.push(buf.slice(last));
      }
      return list;
    }
    function replaceByteInByteSequence(buf, from, to) {
      let i = buf.indexOf(from);
      while (i >= 0) {
        buf[i] = to;
        i = buf.indexOf(from, i + 1);
      }
      return buf;
    }
    module2.exports = {
      parseUrlencodedString,
      serializeUrlencoded
    };
  }
});

// ../../../node_modules/whatwg-url/lib/URLSearchParams-impl.js
var require_URLSearchParams_impl = __commonJS({
  "../../../node_modules/whatwg-url/lib/URLSearchParams-impl.js"(exports) {
    "use strict";
    var urlencoded = require_urlencoded();
    exports.implementation = class URLSearchParamsImpl {
      constructor(globalObject, constructorArgs, { doNotStripQMark = false }) {
        let init = constructorArgs[0];
        this._list = [];
        this._url = null;
        if (!doNotStripQMark && typeof init === "string" && init[0] === "?") {
          init = init.slice(1);
        }
        if (Array.isArray(init)) {
          for (const pair of init) {
            if (pair.length !== 2) {
              throw new TypeError("Failed to construct 'URLSearchParams': parameter 1 sequence's element does not contain exactly two elements.");
            }
            this._list.push([pair[0], pair[1]]);
          }
        } else if (typeof init === "object" && Object.getPrototypeOf(init) === null) {
          for (const name of Object.keys(init)) {
            const value = init[name];
            this._list.push([name, value]);
          }
        } else {
          this._list = urlencoded.parseUrlencodedString(init);
        }
      }
      _updateSteps() {
        if (this._url !== null) {
          let serializedQuery = urlencoded.serializeUrlencoded(this._list);
          if (serializedQuery === "") {
            serializedQuery = null;
          }
          this._url._url.query = serializedQuery;
        }
      }
      get size() {
        return this._list.length;
      }
      append(name, value) {
        this._list.push([name, value]);
        this._updateSteps();
      }
      delete(name, value) {
        let i = 0;
        while (i < this._list.length) {
          if (this._list[i][0] === name && (value === void 0 || this._list[i][1] === value)) {
            this._list.splice(i, 1);
          } else {
            i++;
          }
        }
        this._updateSteps();
      }
      get(name) {
        for (const tuple of this._list) {
          if (tuple[0] === name) {
            return tuple[1];
          }
        }
        return null;
      }
      getAll(name) {
        const output = [];
        for (const tuple of this._list) {
          if (tuple[0] === name) {
            output.push(tuple[1]);
          }
        }
        return output;
      }
      has(name, value) {
        for (const tuple of this._list) {
          if (tuple[0] === name && (value === void 0 || tuple[1] === value)) {
            return true;
          }
        }
        return false;
      }
      set(name, value) {
        let found = false;
        let i = 0;
        while (i < this._list.length) {
          if (this._list[i][0] === name) {
            if (found) {
              this._list.splice(i, 1);
            } else {
              found = true;
              this._list[i][1] = value;
              i++;
            }
          } else {
            i++;
          }
        }
        if (!found) {
          this._list.push([name, value]);
        }
        this._updateSteps();
      }
      sort() {
        this._list.sort((a, b) => {
          if (a[0] < b[0]) {
            return -1;
          }
          if (a[0] > b[0]) {
            return 1;
          }
          return 0;
        });
        this._updateSteps();
      }
      [Symbol.iterator]() {
        return this._list[Symbol.iterator]();
      }
      toString() {
        return urlencoded.serializeUrlencoded(this._list);
      }
    };
  }
});

// stand-in:./URLSearchParams
var URLSearchParams_exports = {};
__export(URLSearchParams_exports, {
  createImpl: () => createImpl
});
var import_URLSearchParams_impl, createImpl;
var init_URLSearchParams = __esm({
  "stand-in:./URLSearchParams"() {
    import_URLSearchParams_impl = __toESM(require_URLSearchParams_impl());
    createImpl = (scope, given, options) => new import_URLSearchParams_impl.implementation(scope, given, options);
  }
});

// ../../../node_modules/whatwg-url/lib/URL-impl.js
var require_URL_impl = __commonJS({
  "../../../node_modules/whatwg-url/lib/URL-impl.js"(exports) {
    "use strict";
    var usm = require_url_state_machine();
    var urlencoded = require_urlencoded();
    var URLSearchParams2 = (init_URLSearchParams(), __toCommonJS(URLSearchParams_exports));
    exports.implementation = class URLImpl {
      // Unlike the spec, we duplicate some code between the constructor and canParse, because we want to give useful error
      // messages in the constructor that distinguish between the different causes of failure.
      constructor(globalObject, [url, base]) {
        let parsedBase = null;
        if (base !== void 0) {
          parsedBase = usm.basicURLParse(base);
          if (parsedBase === null) {
            throw new TypeError(`Invalid base URL: ${base}`);
          }
        }
        const parsedURL = usm.basicURLParse(url, { baseURL: parsedBase });
        if (parsedURL === null) {
          throw new TypeError(`Invalid URL: ${url}`);
        }
        const query = parsedURL.query !== null ? parsedURL.query : "";
        this._url = parsedURL;
        this._query = URLSearchParams2.createImpl(globalObject, [query], { doNotStripQMark: true });
        this._query._url = this;
      }
      static parse(globalObject, input, base) {
        try {
          return new URLImpl(globalObject, [input, base]);
        } catch {
          return null;
        }
      }
      static canParse(url, base) {
        let parsedBase = null;
        if (base !== void 0) {
          parsedBase = usm.basicURLParse(base);
          if (parsedBase === null) {
            return false;
          }
        }
        const parsedURL = usm.basicURLParse(url, { baseURL: parsedBase });
        if (parsedURL === null) {
          return false;
        }
        return true;
      }
      get href() {
        return usm.serializeURL(this._url);
      }
      set href(v) {
        const parsedURL = usm.basicURLParse(v);
        if (parsedURL === null) {
          throw new TypeError(`Invalid URL: ${v}`);
        }
        this._url = parsedURL;
        this._query._list.splice(0);
        const { query } = parsedURL;
        if (query !== null) {
          this._query._list = urlencoded.parseUrlencodedString(query);
        }
      }
      get origin() {
        return usm.serializeURLOrigin(this._url);
      }
      get protocol() {
        return `${this._url.scheme}:`;
      }
      set protocol(v) {
        usm.basicURLParse(`${v}:`, { url: this._url, stateOverride: "scheme start" });
      }
      get username() {
        return this._url.username;
      }
      set username(v) {
        if (usm.cannotHaveAUsernamePasswordPort(this._url)) {
          return;
        }
        usm.setTheUsername(this._url, v);
      }
      get password() {
        return this._url.password;
      }
      set password(v) {
        if (usm.cannotHaveAUsernamePasswordPort(this._url)) {
          return;
        }
        usm.setThePassword(this._url, v);
      }
      get host() {
        const url = this._url;
        if (url.host === null) {
          return "";
        }
        if (url.port === null) {
          return usm.serializeHost(url.host);
        }
        return `${usm.serializeHost(url.host)}:${usm.serializeInteger(url.port)}`;
      }
      set host(v) {
        if (usm.hasAnOpaquePath(this._url)) {
          return;
        }
        usm.basicURLParse(v, { url: this._url, stateOverride: "host" });
      }
      get hostname() {
        if (this._url.host === null) {
          return "";
        }
        return usm.serializeHost(this._url.host);
      }
      set hostname(v) {
        if (usm.hasAnOpaquePath(this._url)) {
          return;
        }
        usm.basicURLParse(v, { url: this._url, stateOverride: "hostname" });
      }
      get port() {
        if (this._url.port === null) {
          return "";
        }
        return usm.serializeInteger(this._url.port);
      }
      set port(v) {
        if (usm.cannotHaveAUsernamePasswordPort(this._url)) {
          return;
        }
        if (v === "") {
          this._url.port = null;
        } else {
          usm.basicURLParse(v, { url: this._url, stateOverride: "port" });
        }
      }
      get pathname() {
        return usm.serializePath(this._url);
      }
      set pathname(v) {
        if (usm.hasAnOpaquePath(this._url)) {
          return;
        }
        this._url.path = [];
        usm.basicURLParse(v, { url: this._url, stateOverride: "path start" });
      }
      get search() {
        if (this._url.query === null || this._url.query === "") {
          return "";
        }
        return `?${this._url.query}`;
      }
      set search(v) {
        const url = this._url;
        if (v === "") {
          url.query = null;
          this._query._list = [];
          return;
        }
        const input = v[0] === "?" ? v.substring(1) : v;
        url.query = "";
        usm.basicURLParse(input, { url, stateOverride: "query" });
        this._query._list = urlencoded.parseUrlencodedString(input);
      }
      get searchParams() {
        return this._query;
      }
      get hash() {
        if (this._url.fragment === null || this._url.fragment === "") {
          return "";
        }
        return `#${this._url.fragment}`;
      }
      set hash(v) {
        if (v === "") {
          this._url.fragment = null;
          return;
        }
        const input = v[0] === "#" ? v.substring(1) : v;
        this._url.fragment = "";
        usm.basicURLParse(input, { url: this._url, stateOverride: "fragment" });
      }
      toJSON() {
        return this.href;
      }
    };
  }
});

// web/main.ts
var main_exports = {};
__export(main_exports, {
  installWeb: () => installWeb
});
module.exports = __toCommonJS(main_exports);

// web/abort.ts
init_dom_exception();

// web/timers.ts
var { apply } = Reflect;
var promiseThen = Promise.prototype.then;
var resolved = Promise.resolve();
var timers;
function useTimers(given) {
  timers = given;
}
function setTimeout(run, ms = 0, ...given) {
  if (typeof run !== "function") throw new TypeError("setTimeout needs a function.");
  return timers.set(() => apply(run, void 0, given), delayOf(ms));
}
function setDeadline(run, ms) {
  timers.set(run, delayOf(ms), true);
}
function delayOf(ms) {
  const number = Number(ms);
  return number > 0 ? number : 0;
}
function clearTimeout(id) {
  if (typeof id === "number") timers.clear(id);
}
function queueMicrotask(run) {
  if (typeof run !== "function") throw new TypeError("queueMicrotask needs a function.");
  apply(promiseThen, resolved, [() => void run()]);
}

// web/abort.ts
var token = {};
var abort;
var AbortSignal = class {
  #aborted = false;
  #reason;
  #listeners = /* @__PURE__ */ new Set();
  static {
    abort = (signal, reason) => {
      if (signal.#aborted) return;
      signal.#aborted = true;
      signal.#reason = reason === void 0 ? new DOMException("This operation was aborted.", "AbortError") : reason;
      const event = Object.freeze({ type: "abort", target: signal });
      for (const run of [signal.onabort, ...signal.#listeners])
        try {
          if (typeof run === "function") Reflect.apply(run, signal, [event]);
          else run?.handleEvent?.(event);
        } catch {
        }
      signal.#listeners.clear();
    };
  }
  constructor(given) {
    if (given !== token) throw new TypeError("Use an AbortController to create signals.");
    Reflect.defineProperty(this, "onabort", { value: null, writable: true });
  }
  static abort(reason) {
    const signal = makeOne();
    abort(signal, reason);
    return signal;
  }
  static timeout(ms) {
    const signal = makeOne();
    setDeadline(() => abort(signal, new DOMException("The operation timed out.", "TimeoutError")), ms);
    return signal;
  }
  static any(signals) {
    const signal = makeOne();
    for (const one of signals) {
      if (one.aborted) abort(signal, one.reason);
      else one.addEventListener("abort", () => abort(signal, one.reason));
    }
    return signal;
  }
  get aborted() {
    return this.#aborted;
  }
  get reason() {
    return this.#reason;
  }
  throwIfAborted() {
    if (this.#aborted) throw this.#reason;
  }
  addEventListener(kind, run) {
    if (kind === "abort" && run !== null && run !== void 0 && !this.#aborted) this.#listeners.add(run);
  }
  removeEventListener(kind, run) {
    if (kind === "abort") this.#listeners.delete(run);
  }
};
var makeOne = () => new AbortSignal(token);
var AbortController = class {
  #signal = makeOne();
  get signal() {
    return this.#signal;
  }
  abort(reason) {
    abort(this.#signal, reason);
  }
};
function makeSignal() {
  const signal = makeOne();
  return { signal, giveUp: (reason) => abort(signal, reason) };
}

// web/clone.ts
init_dom_exception();
var { apply: apply2, defineProperty } = Reflect;
var Buffer2 = ArrayBuffer;
var { isView } = ArrayBuffer;
var kindOf = Object.prototype.toString;
var ERRORS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError];
var BOXES = ["[object Number]", "[object String]", "[object Boolean]"];
var cannot = (what) => new DOMException(`${what} cannot be copied.`, "DataCloneError");
function structuredClone(value) {
  return new Cloning().copyOf(value);
}
var Cloning = class {
  #copies = /* @__PURE__ */ new Map();
  copyOf(one) {
    if (typeof one === "function" || typeof one === "symbol") throw cannot(`A ${typeof one}`);
    if (one === null || typeof one !== "object") return one;
    return this.#copies.get(one) ?? this.#copyOfCollection(one) ?? this.#copyOfBuiltIn(one) ?? this.#copyOfObject(one);
  }
  /** Before its members are copied, which may refer to it. */
  #keep(one, copy) {
    this.#copies.set(one, copy);
    return copy;
  }
  #copyOfCollection(one) {
    if (Array.isArray(one)) {
      const copy2 = this.#keep(one, []);
      copy2.length = one.length;
      return this.#copyMembers(one, copy2);
    }
    if (one instanceof Map) {
      const copy2 = this.#keep(one, /* @__PURE__ */ new Map());
      for (const [key, member] of [...one]) copy2.set(this.copyOf(key), this.copyOf(member));
      return copy2;
    }
    if (!(one instanceof Set)) return null;
    const copy = this.#keep(one, /* @__PURE__ */ new Set());
    for (const member of [...one]) copy.add(this.copyOf(member));
    return copy;
  }
  #copyMembers(one, copy) {
    for (const [key, member] of Object.entries(one))
      defineProperty(copy, key, { value: this.copyOf(member), writable: true, enumerable: true, configurable: true });
    return copy;
  }
  #copyOfBuiltIn(one) {
    if (one instanceof Date) return this.#keep(one, new Date(one.getTime()));
    if (one instanceof RegExp) return this.#keep(one, new RegExp(one.source, one.flags));
    if (one instanceof Buffer2) return this.#keep(one, one.slice(0));
    if (isView(one)) {
      const buffer = this.copyOf(one.buffer);
      if (one instanceof DataView) return this.#keep(one, new DataView(buffer, one.byteOffset, one.byteLength));
      const Kind = one.constructor;
      return this.#keep(one, new Kind(buffer, one.byteOffset, one.length));
    }
    return one instanceof Error ? this.#copyOfError(one) : null;
  }
  #copyOfError(one) {
    const Kind = ERRORS.find((candidate) => one instanceof candidate && one.name === candidate.name) ?? Error;
    const copy = this.#keep(one, new Kind(String(one.message)));
    defineProperty(copy, "stack", { value: String(one.stack), writable: true, configurable: true });
    if ("cause" in one) defineProperty(copy, "cause", { value: this.copyOf(one.cause), writable: true, configurable: true });
    return copy;
  }
  #copyOfObject(one) {
    const kind = apply2(kindOf, one, []);
    if (BOXES.includes(kind)) return this.#keep(one, Object(one.valueOf()));
    if (one instanceof Promise || one instanceof WeakMap || one instanceof WeakSet || one instanceof WeakRef) throw cannot(kind);
    return this.#copyMembers(one, this.#keep(one, {}));
  }
};

// web/main.ts
init_dom_exception();

// web/form-data.ts
var FormData = class {
  #fields = [];
  append(name, value) {
    this.#fields.push([`${name}`, `${value}`]);
  }
  delete(name) {
    this.#fields = this.#fields.filter(([one]) => one !== `${name}`);
  }
  get(name) {
    return this.getAll(name)[0] ?? null;
  }
  getAll(name) {
    return this.#fields.filter(([one]) => one === `${name}`).map(([, value]) => value);
  }
  has(name) {
    return this.getAll(name).length > 0;
  }
  set(name, value) {
    const at = this.#fields.findIndex(([one]) => one === `${name}`);
    this.delete(name);
    this.#fields.splice(at < 0 ? this.#fields.length : at, 0, [`${name}`, `${value}`]);
  }
  forEach(run, self) {
    for (const [name, value] of this) run.call(self, value, name, this);
  }
  *entries() {
    for (const [name, value] of this.#fields) yield [name, value];
  }
  *keys() {
    for (const [name] of this.#fields) yield name;
  }
  *values() {
    for (const [, value] of this.#fields) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() {
    return "FormData";
  }
};
var escapeName = (name) => name.replace(/\r?\n|\r/g, "%0D%0A").replaceAll('"', "%22");
function formText(form) {
  let boundary = "----form";
  while (boundary.length < 40) boundary += Math.random().toString(36).slice(2);
  let text = "";
  for (const [name, value] of form)
    text += `--${boundary}\r
Content-Disposition: form-data; name="${escapeName(name)}"\r
\r
${value.replace(/\r?\n|\r/g, "\r\n")}\r
`;
  return { text: `${text}--${boundary}--\r
`, type: `multipart/form-data; boundary=${boundary}` };
}

// web/body.ts
init_text();

// web/url.ts
var engine = () => require_URL_impl();
var paramsEngine = () => require_URLSearchParams_impl();
var textOf = (given) => `${given}`.toWellFormed();
var optional = (given) => given === void 0 ? void 0 : textOf(given);
var addressOf = (given) => textOf(given).replace(/[\u{10000}-\u{10ffff}]/gu, encodeURIComponent);
var baseOf = (given) => given === void 0 ? void 0 : addressOf(given);
var fill;
var URLSearchParams = class {
  #impl;
  static {
    fill = (params, impl) => {
      params.#impl = impl;
    };
  }
  constructor(given = "") {
    const isObject = given !== null && (typeof given === "object" || typeof given === "function");
    this.#impl = new (paramsEngine()).implementation(null, [isObject ? pairsOf(given) : textOf(given)], {});
  }
  get size() {
    return this.#impl.size;
  }
  append(name, value) {
    this.#impl.append(textOf(name), textOf(value));
  }
  delete(name, value) {
    this.#impl.delete(textOf(name), optional(value));
  }
  get(name) {
    return this.#impl.get(textOf(name));
  }
  getAll(name) {
    return this.#impl.getAll(textOf(name));
  }
  has(name, value) {
    return this.#impl.has(textOf(name), optional(value));
  }
  set(name, value) {
    this.#impl.set(textOf(name), textOf(value));
  }
  sort() {
    this.#impl.sort();
  }
  forEach(run, self) {
    for (const [name, value] of this) run.call(self, value, name, this);
  }
  *entries() {
    for (const [name, value] of this.#impl) yield [name, value];
  }
  *keys() {
    for (const [name] of this) yield name;
  }
  *values() {
    for (const [, value] of this) yield value;
  }
  toString() {
    return this.#impl.toString();
  }
  get [Symbol.toStringTag]() {
    return "URLSearchParams";
  }
};
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, {
  value: URLSearchParams.prototype.entries,
  writable: true,
  configurable: true
});
function pairsOf(given) {
  if (typeof given[Symbol.iterator] !== "function")
    return Object.entries(given).map(([name, value]) => [textOf(name), textOf(value)]);
  return Array.from(given, (pair) => {
    const [name, value, ...more] = pair;
    if (more.length > 0 || value === void 0) throw new TypeError("Each pair must be a name and a value.");
    return [textOf(name), textOf(value)];
  });
}
var implOf;
var URL = class {
  #impl;
  #params = null;
  static {
    implOf = (url) => url.#impl;
  }
  constructor(address, base) {
    this.#impl = new (engine()).implementation(null, [addressOf(address), baseOf(base)]);
  }
  static canParse(address, base) {
    return engine().implementation.canParse(addressOf(address), baseOf(base));
  }
  static parse(address, base) {
    return engine().implementation.canParse(addressOf(address), baseOf(base)) ? makeUrl(address, base) : null;
  }
  get origin() {
    return this.#impl.origin;
  }
  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams();
      fill(this.#params, this.#impl.searchParams);
    }
    return this.#params;
  }
  toString() {
    return this.#impl.href;
  }
  toJSON() {
    return this.#impl.href;
  }
  get [Symbol.toStringTag]() {
    return "URL";
  }
};
var makeUrl = (address, base) => new URL(address, base);
for (const name of ["href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"])
  Object.defineProperty(URL.prototype, name, {
    get() {
      return implOf(this)[name];
    },
    set(text) {
      implOf(this)[name] = name === "href" ? addressOf(text) : textOf(text);
    },
    enumerable: true,
    configurable: true
  });

// web/body.ts
var { isView: isView3 } = ArrayBuffer;
var Buffer4 = ArrayBuffer;
function bodyOf(given) {
  if (given === void 0 || given === null) return { text: null, type: null };
  if (given instanceof URLSearchParams) return { text: `${given}`, type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (given instanceof FormData) return formText(given);
  if (given instanceof ReadableStream) return { text: given.take(), type: null };
  if (isView3(given) || given instanceof Buffer4) {
    try {
      return { text: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(given), type: null };
    } catch {
      throw new TypeError("A body must be a text, but these bytes are not UTF-8.");
    }
  }
  return { text: `${given}`, type: "text/plain;charset=UTF-8" };
}
var isBody = (given) => given instanceof URLSearchParams || given instanceof FormData || given instanceof ReadableStream || given instanceof Buffer4 || isView3(given);
var ReadableStream = class {
  #text;
  #used;
  #locked = false;
  constructor(text, used) {
    this.#text = text;
    this.#used = used;
  }
  get locked() {
    return this.#locked;
  }
  take() {
    this.#refuseLocked();
    this.#used();
    const text = this.#text ?? "";
    this.#text = null;
    return text;
  }
  getReader() {
    this.#refuseLocked();
    this.#locked = true;
    this.#used();
    return {
      closed: Promise.resolve(void 0),
      read: async () => {
        const text = this.#text;
        this.#text = null;
        return text ? { done: false, value: new TextEncoder().encode(text) } : { done: true, value: void 0 };
      },
      cancel: async () => {
        this.#text = null;
      },
      releaseLock: () => {
        this.#locked = false;
      }
    };
  }
  async cancel() {
    this.#refuseLocked();
    this.#text = null;
  }
  async *[Symbol.asyncIterator]() {
    const { value } = await this.getReader().read();
    if (value !== void 0) yield value;
  }
  #refuseLocked() {
    if (this.#locked) throw new TypeError("This body is locked by another reader.");
  }
  get [Symbol.toStringTag]() {
    return "ReadableStream";
  }
};
var textOf2;
var Body = class {
  #text;
  #stream = null;
  #used = false;
  static {
    textOf2 = (body) => body.#text;
  }
  constructor(text) {
    this.#text = text;
  }
  get body() {
    if (this.#text === null) return null;
    this.#stream ??= new ReadableStream(this.#text, () => {
      this.#used = true;
    });
    return this.#stream;
  }
  get bodyUsed() {
    return this.#used;
  }
  async text() {
    this.#used = this.#text !== null;
    return this.#text ?? "";
  }
  async json() {
    return JSON.parse(await this.text());
  }
  async bytes() {
    return new TextEncoder().encode(await this.text());
  }
  async arrayBuffer() {
    return (await this.bytes()).buffer;
  }
  async blob() {
    throw new TypeError("Plugins have no Blob. A body must be a text, or its bytes.");
  }
  async formData() {
    throw new TypeError("Plugins cannot parse forms. A body must be a text, or its bytes.");
  }
};

// web/headers.ts
var TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
var isToken = (text) => TOKEN.test(text);
function nameOf(given) {
  const name = `${given}`;
  if (!isToken(name)) throw new TypeError(`"${name.slice(0, 64)}" is not a header name.`);
  return name.toLowerCase();
}
function lineOf(given) {
  const value = `${given}`.replace(/^[\t\n\r ]+/, "");
  let end = value.length;
  while (end > 0 && "	\n\r ".includes(value[end - 1])) end -= 1;
  const text = value.slice(0, end);
  if (/[\0\n\r]|[^\0-\xff]/.test(text)) throw new TypeError("A header value must be one line of characters below U+0100.");
  return text;
}
var fill2;
var Headers = class {
  /** By lower-case name. */
  #values = /* @__PURE__ */ new Map();
  static {
    fill2 = (headers, pairs) => {
      for (const [name, value] of pairs) headers.#values.set(name, value);
    };
  }
  constructor(given) {
    if (given === void 0 || given === null) return;
    if (typeof given !== "object") throw new TypeError("Headers must be an object, an array of pairs, or Headers.");
    const plain = given;
    if (typeof given[Symbol.iterator] !== "function")
      for (const name of Object.keys(plain)) this.append(name, plain[name]);
    else
      for (const pair of given) {
        const [name, value, ...more] = pair;
        if (value === void 0 || more.length > 0) throw new TypeError("Each header in an array must be a pair of name and value.");
        this.append(name, value);
      }
  }
  append(given, value) {
    const name = nameOf(given);
    const before = this.#values.get(name);
    this.#values.set(name, before === void 0 ? lineOf(value) : `${before}, ${lineOf(value)}`);
  }
  delete(name) {
    this.#values.delete(nameOf(name));
  }
  get(name) {
    return this.#values.get(nameOf(name)) ?? null;
  }
  /** Plugins do not get cookies. */
  getSetCookie() {
    return [];
  }
  has(name) {
    return this.#values.has(nameOf(name));
  }
  set(name, value) {
    this.#values.set(nameOf(name), lineOf(value));
  }
  forEach(run, self) {
    for (const [name, value] of this) run.call(self, value, name, this);
  }
  *entries() {
    for (const name of [...this.#values.keys()].sort()) {
      const value = this.#values.get(name);
      if (value !== void 0) yield [name, value];
    }
  }
  *keys() {
    for (const [name] of this.entries()) yield name;
  }
  *values() {
    for (const [, value] of this.entries()) yield value;
  }
  [Symbol.iterator]() {
    return this.entries();
  }
  get [Symbol.toStringTag]() {
    return "Headers";
  }
};

// web/fetch.ts
var BODILESS = [101, 103, 204, 205, 304];
var METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "POST", "PUT"];
var { stringify } = JSON;
var isRequest;
var Request = class extends Body {
  #url;
  #method;
  #headers;
  #signal;
  #redirect;
  static {
    isRequest = (value) => typeof value === "object" && value !== null && #url in value;
  }
  constructor(input, init) {
    const { method, headers, body, signal, redirect } = init ?? {};
    const from = isRequest(input) ? input : null;
    const given = bodyOf(body);
    const name = `${method ?? from?.method ?? "GET"}`;
    if (!isToken(name)) throw new TypeError(`"${name.slice(0, 20)}" is not a method.`);
    const upper = METHODS.includes(name.toUpperCase()) ? name.toUpperCase() : name;
    const text = body === void 0 || body === null ? from === null ? null : textOf2(from) : given.text;
    if (text !== null && (upper === "GET" || upper === "HEAD")) throw new TypeError(`${upper} cannot have a body.`);
    super(text);
    this.#url = from === null ? new URL(`${input}`).href : from.url;
    this.#method = upper;
    this.#headers = new Headers(headers ?? from?.headers);
    if (given.type !== null && !this.#headers.has("content-type")) this.#headers.set("content-type", given.type);
    this.#signal = signal ?? from?.signal ?? new AbortController().signal;
    this.#redirect = `${redirect ?? from?.redirect ?? "follow"}`;
  }
  get url() {
    return this.#url;
  }
  get method() {
    return this.#method;
  }
  get headers() {
    return this.#headers;
  }
  get signal() {
    return this.#signal;
  }
  get redirect() {
    return this.#redirect;
  }
  get mode() {
    return "cors";
  }
  get credentials() {
    return "omit";
  }
  get cache() {
    return "default";
  }
  clone() {
    return makeRequest(this);
  }
  get [Symbol.toStringTag]() {
    return "Request";
  }
};
var makeRequest = (from) => new Request(from);
var respond = (body, init) => new Response(body, init);
function readArguments(input, init) {
  const beside = init ?? {};
  const from = isRequest(input) ? input : null;
  if ((beside.redirect ?? from?.redirect ?? "follow") !== "follow")
    throw new TypeError('The server follows redirects, but only to hosts of the manifest: "redirect" must be "follow".');
  const { timeoutMs, signal = from?.signal, method = from?.method ?? "GET" } = beside;
  let { headers = from?.headers ?? {}, body } = beside;
  if (body === void 0 && from !== null) body = textOf2(from) ?? void 0;
  else if (isBody(body)) {
    const { text, type } = bodyOf(body);
    body = text;
    const typed = new Headers(headers);
    if (type !== null && !typed.has("content-type")) typed.set("content-type", type);
    headers = typed;
  }
  return { url: from === null ? `${input}` : from.url, method, headers, body, timeoutMs, signal };
}
var answered = /* @__PURE__ */ Symbol("answered");
var Response = class extends Body {
  #status;
  #statusText;
  #headers;
  #url;
  #retryAfterSeconds;
  #type;
  constructor(body, init) {
    const { status: given = 200, statusText = "", headers, [answered]: answer } = init ?? {};
    const status = given;
    if (answer === void 0 && !(status >= 200 && status <= 599)) throw new RangeError("A status must be a number from 200 to 599.");
    const { text, type } = answer === void 0 ? bodyOf(body) : { text: body, type: null };
    if (text !== null && BODILESS.includes(status)) throw new TypeError(`A response of status ${status} cannot have a body.`);
    super(text);
    this.#status = Number(status);
    this.#statusText = `${statusText}`;
    this.#headers = new Headers(headers);
    if (type !== null && !this.#headers.has("content-type")) this.#headers.set("content-type", type);
    this.#url = answer?.url ?? "";
    this.#retryAfterSeconds = answer?.retryAfterSeconds ?? null;
    this.#type = answer?.type ?? "default";
  }
  static json(value, init) {
    const headers = new Headers(init?.headers);
    if (!headers.has("content-type")) headers.set("content-type", "application/json");
    return respond(stringify(value), { ...init, headers });
  }
  static error() {
    return respond(null, { status: 0, [answered]: { type: "error" } });
  }
  get status() {
    return this.#status;
  }
  get statusText() {
    return this.#statusText;
  }
  get ok() {
    return this.#status >= 200 && this.#status < 300;
  }
  get headers() {
    return this.#headers;
  }
  /** Of the last hop. */
  get url() {
    return this.#url;
  }
  get redirected() {
    return false;
  }
  get type() {
    return this.#type;
  }
  /** The wait that the service asks for, when it is longer than a call may take. */
  get retryAfterSeconds() {
    return this.#retryAfterSeconds;
  }
  clone() {
    const { status, statusText, headers, url, retryAfterSeconds, type } = this;
    return respond(textOf2(this), { status, statusText, headers, [answered]: { url, retryAfterSeconds, type } });
  }
  get [Symbol.toStringTag]() {
    return "Response";
  }
};
function makeResponse({ status, url, headers, body, retryAfterSeconds }) {
  const answer = { url, retryAfterSeconds: retryAfterSeconds ?? null, type: "basic" };
  const response = new Response(BODILESS.includes(status) ? null : body, { status, [answered]: answer });
  fill2(response.headers, headers);
  return response;
}

// web/main.ts
init_text();
var GLOBALS = {
  URL,
  URLSearchParams,
  DOMException,
  TextEncoder,
  TextDecoder,
  btoa,
  atob,
  structuredClone,
  setTimeout,
  clearTimeout,
  queueMicrotask,
  AbortSignal,
  AbortController,
  Headers,
  Request,
  Response,
  FormData
};
function installWeb(timers2) {
  useTimers(timers2);
  for (const [name, value] of Object.entries(GLOBALS))
    Reflect.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  return { __proto__: null, makeSignal, readArguments, makeResponse };
}
return module.exports.installWeb
})({})
