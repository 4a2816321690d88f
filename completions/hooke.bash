# bash completion of hooke: commands, their options as the program lists them, files.
_hooke()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} program=${COMP_WORDS[0]}
    local command=${COMP_WORDS[1]} commands
    COMPREPLY=()
    commands=$("$program" help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
        return
    fi
    if [ "$command" = help ]; then
        local topics
        topics=$("$program" help 2>/dev/null | sed -n 's/^  hooke help \([a-z]*\) .*/\1/p')
        topics+=" $("$program" help methods 2>/dev/null | sed -n 's/^\([a-z_]*\)$/\1/p')"
        mapfile -t COMPREPLY < <(compgen -W "$commands $topics" -- "$word")
        return
    fi
    local verb=()
    if [ "$command" = mesh ]; then
        if [ "$COMP_CWORD" -eq 2 ]; then
            mapfile -t COMPREPLY < <(compgen -W "$("$program" mesh --help 2>/dev/null |
                sed -n 's/^  \([a-z]*\)  .*/\1/p') --help" -- "$word")
            return
        fi
        verb=("${COMP_WORDS[2]}")
    fi
    case $before in
    --methods | -m | --march)
        mapfile -t COMPREPLY < <(compgen -W "$("$program" help methods 2>/dev/null |
            sed -n 's/^\([a-z_]*\)$/\1/p')" -- "$word")
        return
        ;;
    --backend)
        mapfile -t COMPREPLY < <(compgen -W "cpu cuda auto petsc" -- "$word")
        return
        ;;
    --out | --uploads | --page | --scenes)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return
        ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$program" "$command" "${verb[@]}" --help 2>/dev/null |
            sed -n 's/^  .*\(--[a-z-]*\).*/\1/p' | sort -u)" -- "$word")
        return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _hooke hooke
