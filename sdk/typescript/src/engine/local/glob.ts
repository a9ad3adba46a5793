// Globs as the runtime reads them, as regular expressions.

/** How a glob is read. */
interface Reading {
  /** Whether `*` and `?` stay within a folder. */
  readonly folders: boolean;
  readonly flags: string;
}

const OF_PATHS: Reading = { folders: true, flags: "us" };
const OF_NAMES: Reading = { folders: false, flags: "ius" };

/** A glob over paths: `*` stays within a folder, `**` crosses folders, and one without a slash matches at any depth. */
export function pathGlob(glob: string): RegExp {
  const plain = glob.replace(/^\.\//, "");
  return regex(plain.includes("/") ? plain : `**/${plain}`, OF_PATHS);
}

/** A glob over names, without regard to case. */
export function nameGlob(glob: string): RegExp {
  return regex(glob, OF_NAMES);
}

function regex(glob: string, { folders, flags }: Reading): RegExp {
  const any = folders ? "[^/]" : ".";
  let depth = 0;
  const translate = (piece: string): string => {
    if (piece === "{") {
      depth += 1;
      return "(?:";
    }
    if (piece === "}" && depth > 0) {
      depth -= 1;
      return ")";
    }
    if (piece === "," && depth > 0) return "|";
    if (piece === "*") return `${any}*`;
    if (piece === "?") return any;
    if (piece === "**/" || piece === "/**/") return piece.startsWith("/") ? "/(?:.*/)?" : "(?:.*/)?";
    if (piece === "/**") return "/.*";
    if (piece === "**") return ".*";
    if (piece.length > 1 && piece.startsWith("[")) return piece.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    if (piece.length > 1 && piece.startsWith("\\")) return escaped(piece.slice(1));
    return escaped(piece);
  };
  const pieces = glob.match(/(?:^|\/)\*\*(?:\/|$)|\[!?\]?[^\]]*\]|\\.|\*+|[\s\S]/gu) ?? [];
  const source = pieces.map((piece) => translate(/^\*+$/.test(piece) && piece !== "**" ? "*" : piece)).join("");
  if (depth > 0) throw new SyntaxError(`the glob \`${glob}\` has a { without its }`);
  return new RegExp(`^(?:${source})$`, flags);
}

const escaped = (text: string): string => text.replace(/[$()*+./?[\\\]^{|}]/gu, "\\$&");
