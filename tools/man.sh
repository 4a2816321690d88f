#!/bin/sh
# Writes the manual page from what the program says of itself.
#   tools/man.sh PATH/TO/hooke >hooke.1
set -eu
hooke=$1

# Text as it is: backslashes, and dots and quotes at the beginning of a line, mean something to man.
verbatim() { sed -e 's/\\/\\e/g' -e "s/^\([.']\)/\\\\\&\1/" -e 's/-/\\-/g'; }
section() { printf '.SH %s\n' "$1"; }
literal() {
    printf '.nf\n'
    verbatim
    printf '.fi\n'
}

version=$("$hooke" --version | sed 's/^hooke //')
printf '.TH HOOKE 1 "" "hooke %s" "Hooke"\n' "$version"
section NAME
printf 'hooke \\- how elastic bodies move, where they come to rest, and which rest shape sags into a drawn one\n'
section SYNOPSIS
printf '.B hooke\n.I COMMAND\n.RI [ arguments ]\n.RI [ options ]\n'
section DESCRIPTION
printf 'Simulates elastic bodies that a scene file describes. SI units, angles in degrees.\n'
printf 'A scene named \\- is read from standard input.\n.PP\n'
"$hooke" help | tail -n +2 | literal
for command in $("$hooke" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
    verbs=$command
    if [ "$command" = mesh ]; then
        verbs=$("$hooke" mesh --help | sed -n 's/^  \([a-z]*\)  .*/mesh:\1/p')
    fi
    for verb in $verbs; do
        words=$(echo "$verb" | tr ':' ' ')
        section "\"HOOKE $(echo "$words" | tr '[:lower:]' '[:upper:]')\""
        # shellcheck disable=SC2086  # the words are to be split
        "$hooke" $words --help | literal
    done
done
section '"THE SCENE FILE"'
"$hooke" help scene | literal
section '"EXIT STATUS"'
printf '0 done, 1 failed, 2 wrong usage.\n'
section '"SEE ALSO"'
printf 'The documentation, docs/index.md of the source; scene.schema.json, which is installed with the scenes.\n'
