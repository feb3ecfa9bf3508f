# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion. Commands, keys and services come from synhold itself, so that this file never lags behind.

_synhold_commands()
{
	synhold --json help 2>/dev/null | grep -o '"name":"[^"]*"' | cut -d'"' -f4
}

_synhold_keys()
{
	synhold --json help keys 2>/dev/null | grep -o '"name":"[^"]*"' | sed 's/.*:"\(.*\)"/\1=/'
}

_synhold_services()
{
	synhold "$@" save 2>/dev/null | sed -n 's/^\[service \(.*\)\]$/\1/p'
}

_synhold_interfaces()
{
	ip -o link 2>/dev/null | sed 's/^[0-9]*: \([^:@]*\).*/\1/'
}

_synhold()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command='' instance=() i
	local options='--json --instance --help'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--instance | -i)
			instance=(--instance "${COMP_WORDS[i + 1]}")
			((i++))
			;;
		-*) ;;
		*)
			command=${COMP_WORDS[i]}
			break
			;;
		esac
	done
	case $prev in
	-c | --config | -o | --output | load)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	--mode)
		mapfile -t COMPREPLY < <(compgen -W 'auto native generic' -- "$cur")
		return
		;;
	--only)
		mapfile -t COMPREPLY < <(compgen -W 'without with ramp nftables hashlimit synproxy haproxy' -- "$cur")
		return
		;;
	--port | -p | --for | --confirm | --rate | --note | --metrics | --cpus | --instance | -i) return ;;
	esac
	case $command in
	'') options="$options --version $(_synhold_commands)" ;;
	help) options="$(_synhold_commands) keys" ;;
	run) options="$options --port --config --metrics --mode --cpus --chain --group --allow-me --detach-on-exit --no-sandbox $(_synhold_interfaces) $(_synhold_keys)" ;;
	attach) options="$options --port --config --mode --chain --allow-me --confirm $(_synhold_interfaces) $(_synhold_keys)" ;;
	detach) options="$options --all $(_synhold_interfaces)" ;;
	check) options="$options $(_synhold_interfaces)" ;;
	set)
		if ((COMP_CWORD == i + 1)); then
			options=$(_synhold_services "${instance[@]}")
		else
			options="--confirm $(_synhold_keys)"
		fi
		;;
	open | ramp | flush | explain | suggest | signal) options="$options --for $(_synhold_services "${instance[@]}")" ;;
	close) options="$options --for --confirm $(_synhold_services "${instance[@]}")" ;;
	status) options="$options --held $(_synhold_services "${instance[@]}")" ;;
	bypass) options="$options --for on off" ;;
	allow | deny) options="$options add del load --for --note" ;;
	prefer) options="$options add del" ;;
	save) options="$options -o" ;;
	diff) options="$options -c" ;;
	reload) options="$options -c --confirm" ;;
	drill) options="$options trello twingate ambra confluence kiln --compare --only --drop --clients --svg --html --log $(_synhold_keys)" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
	[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -F _synhold synhold
